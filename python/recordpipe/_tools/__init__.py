"""Functions on whole files: what the tfrecord command does."""
