"""Cases of the errors of functions that read chosen records."""
from damaged_files import flipped
from toolkit_cases.case import Case
from toolkit_cases.contents import IDS, record


def selection_errors(function, content, **options):
    """Errors of the functions that read records."""
    for name, files, more, error in (
            ("a feature that no record has", {"a": IDS}, {"where": "idx == 3"},
             ("NotFoundError", "idx, which no record has; there are id")),
            ("a feature that no record has, which is not looked at", {"a": IDS},
             {"where": "id >= 0 or idx == 3"},
             ("NotFoundError", "idx, which no record has; there are id")),
            ("a feature that no record has, in not", {"a": IDS}, {"where": "not (idx == 3)"},
             ("NotFoundError", "idx, which no record has; there are id")),
            ("no expression", {"a": IDS}, {"where": "id ="}, ("InvalidArgumentError", "column")),
            ("cut", {"a": content[:-1]}, {}, ("DataLossError", "truncated record at")),
            ("a flipped bit", {"a": flipped(content, 8 * len(content) - 1)}, {},
             ("DataLossError", "corrupted record at"))):
        yield Case(name, function, files, {**options, **more}, error=error, outputs={})
    for name, where in (("they lack", "id >= 0 or has(id)"), ("nothing lacks", "not has(idx)")):
        yield Case(f"records of no known kind, for features that {name}", function,
                   {"a": IDS + record(b"foo"), "b": record(b"bar")}, {**options, "where": where},
                   note="2 records are of no known kind, and ")
