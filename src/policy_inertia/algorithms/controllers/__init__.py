"""Controllers: what `nested` puts around a core, one file each."""
