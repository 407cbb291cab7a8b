"""What a case is, and how it is checked."""
import dataclasses

from toolkit_cases.contents import records_of


@dataclasses.dataclass(frozen=True)
class Case:
    """
    Attributes:
        function: of the package; a subcommand of tfrecord.
        files: names to contents. All are inputs, in this order, unless `inputs` has their names.
        options: keyword arguments of the package; options of the command are made of them.
        target: of convert and salvage.
        report: what `tfrecord FUNCTION --json` prints, as a list if it is one line for each file; a
            dict that has ... as a key may have others, too. None: anything.
        outputs: names of written files to their records, or to the number of records.
        code: of schema: "cpp", "python" or "tensorflow" to the text that is generated.
        error: a class of the package's exception, and words of the message.
        note: words of the warning. Empty: anything.
    """
    name: str
    function: str
    files: dict
    options: dict = dataclasses.field(default_factory=dict)
    inputs: tuple = ()
    target: str = "out"
    report: object = None
    outputs: dict = None
    code: dict = dataclasses.field(default_factory=dict)
    error: tuple = None
    note: str = ""


class Failed(Exception):
    """What a function raised: the message, and for the package the exception's classes."""

    def __init__(self, message, classes=None):
        super().__init__(message)
        self.message, self.classes = message, classes


def check(test, case, folder):
    for name, content in case.files.items():
        (folder / name).write_bytes(content)
    inputs = [str(folder / name) for name in case.inputs or case.files]
    try:
        report, code = test.run_case(case, inputs, str(folder / case.target))
    except Failed as failed:
        test.assertIsNotNone(case.error, failed.message)
        for name, content in case.files.items():
            test.assertEqual((folder / name).read_bytes(), content)
        kind, words = case.error
        test.assertIn(words, failed.message)
        if failed.classes is not None:
            test.assertIn(kind, failed.classes, failed.message)
        outputs = {}
    else:
        test.assertIsNone(case.error, report)
        test.assertIn(case.note, test.notes)
        if case.report is not None:
            expect_equal(test, without(f"{folder}/", report), case.report)
        test.assertEqual(code, case.code)
        outputs = case.outputs
    if outputs is None:
        return
    written = {path.name: path for path in folder.iterdir() if path.name not in case.files}
    test.assertEqual(sorted(written), sorted(outputs))
    for name, expected in outputs.items():
        found = records_of(written[name].read_bytes())
        test.assertEqual(len(found) if isinstance(expected, int) else found, expected, name)


def without(folder, value):
    """A value of JSON without the folder at the beginning of its paths."""
    if isinstance(value, dict):
        return {name: without(folder, item) for name, item in value.items()}
    if isinstance(value, list):
        return [without(folder, item) for item in value]
    return value.removeprefix(folder) if isinstance(value, str) else value


def expect_equal(test, found, expected, place="report"):
    """A "reason" begins with the expected one. None means that the name is absent."""
    if isinstance(expected, dict):
        test.assertIsInstance(found, dict, place)
        names = {name for name in found if found[name] is not None}
        wanted = {name for name in expected if name is not ... and expected[name] is not None}
        if ... in expected:  # may have others, except those that are expected to be None
            names -= names - expected.keys()
        test.assertEqual(names, wanted, place)
        for name in names:
            expect_equal(test, found[name], expected[name], f"{place}.{name}")
    elif isinstance(expected, list):
        test.assertEqual(len(found), len(expected), (place, found))
        for i, (one, other) in enumerate(zip(found, expected)):
            expect_equal(test, one, other, f"{place}[{i}]")
    elif isinstance(expected, str) and place.endswith(".reason"):
        test.assertTrue(found.startswith(expected), (place, found))
    else:
        test.assertEqual(found, expected, place)
