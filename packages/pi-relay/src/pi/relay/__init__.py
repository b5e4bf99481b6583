"""The relay of shared sessions: forwards sealed frames, keeps sealed shares, reads neither."""
