"""Programs that measure the drawing of pictures for compaction."""
