"""Why packets are not placed: a lenient diagnosis of a capture against a session, and checks of the host."""
