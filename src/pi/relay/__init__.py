"""The relay of shared sessions: forwards sealed frames and keeps sealed shares. It reads neither."""
