"""What a batch costs: programs that run scripted sessions and print their CPU time and memory."""
