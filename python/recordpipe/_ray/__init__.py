"""Ray Data: what recordpipe.ray offers."""
