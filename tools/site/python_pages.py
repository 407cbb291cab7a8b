"""The pages of the Python API: mkdocstrings fills in the docstrings of the public names."""

import ast

# File, title, names of recordpipe.
PAGES = [
    ("dataset", "Dataset", "Dataset Iterator Ragged"),
    ("sources", "Sources", "tfrecords tfds list_files from_list from_generator range zip"
     " sample_from_datasets choose_from_datasets cifar10_batches tfds_info TfdsInfo TfdsSplit"
     " TfdsFeature"),
    ("features", "Features and schemas", "FixedLenFeature VarLenFeature RaggedFeature RawFeature"
     " FixedLenSequenceFeature TensorFeature schema Schema FeatureSchema FeatureListSchema"
     " episode_statistics EpisodeStatistics StepStatistics parse_tensor serialize_tensor"),
    ("files", "Whole files", "info verify stats index convert convert_to_dir salvage"
     " salvage_to_dir verify_manifest map_shards"),
    ("reports", "Reports about files", "Info FileInfo RecordSizes VerifyReport FileReport"
     " DamagedRegion Stats FeatureStats NumberStats BytesStats Distribution Histogram FileIndex"
     " ConvertPlan ConvertReport SkippedRecord SkippedRegion WrittenFile SalvageReport"
     " ManifestReport ManifestFile ShardResult ShardJobReport WrittenShard FailedShard"),
    ("writing", "Writing", "write_tfrecords write_table Writer encode_example FileSystem"
     " WritableFile"),
    ("errors", "Errors", "Error NotFoundError MissingFileError AlreadyExistsError"
     " PermissionDeniedError FileSystemError BusyError InvalidArgumentError DataLossError"
     " UnsupportedError LimitExceededError CancelledError"),
]  # fmt: skip
ADAPTERS = ("torch", "grain", "ray")
CONSTANTS = {"INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "__version__"}  # of native code
NOT_IN_ALL = {"range", "zip"}  # an import of * would hide Python's own


def public_names(path):
    """The __all__ of a module."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return ast.literal_eval(node.value)
    raise ValueError(f"{path} has no __all__")


def python_pages(package):
    """(name of the page, its text). Each public name is on one page."""
    promised = {*public_names(package / "__init__.py")} - CONSTANTS | NOT_IN_ALL
    shown = [name for _, _, names in PAGES for name in names.split()]
    if len(shown) != len({*shown}) or {*shown} != promised:
        raise ValueError(
            f"python_pages.py: not on one page: {promised.symmetric_difference(shown)}"
        )
    links = "".join(
        f"- [{title}]({file}.md): "
        + ", ".join(f"[`{name}`][recordpipe.{name}]" for name in names.split())
        + "\n"
        for file, title, names in PAGES
    )
    links += "".join(f"- [recordpipe.{name}]({name}.md)\n" for name in ADAPTERS)
    yield "index.md", f"# All names\n\nThe names of `import recordpipe as rp`.\n\n{links}"
    for file, title, names in PAGES:
        blocks = "".join(f"::: recordpipe.{name}\n\n" for name in names.split())
        yield f"{file}.md", f"# {title}\n\n{blocks}"
    for name in ADAPTERS:
        members = ", ".join(public_names(package / f"{name}.py"))
        options = f"    options:\n      heading_level: 1\n      members: [{members}]\n"
        options += "      show_root_full_path: true\n"
        title = f"---\ntitle: recordpipe.{name}\n---\n\n"
        yield f"{name}.md", f"{title}::: recordpipe.{name}\n{options}"
