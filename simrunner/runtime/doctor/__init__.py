"""What `simrunner doctor` looks at: the machine, a server, and a design tried on that server.

What it makes it removes again. What killed commands left is cleaned up where any other command would do that.
"""
