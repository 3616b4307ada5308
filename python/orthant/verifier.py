def verify_callable():
    pass
