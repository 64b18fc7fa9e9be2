"""What is wrong with a packet or a stream of them, check by check."""
