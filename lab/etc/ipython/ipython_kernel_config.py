c = get_config()  # noqa: F821
c.IPKernelApp.log_level = "ERROR"  # each kernel warns that whoever is on this machine could listen to it
