"""Trajectories in the Agent Trajectory Interchange Format (ATIF 1.8)."""
