#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens a page in a headless Chromium and prints what the promise of a script becomes there, in real time: pages that
fetch and stream are not finished when they have loaded. Usage: evaluate_page.py BROWSER URL SCRIPT, HOME a scratch folder."""
import json
import os
import subprocess
import sys

browser, url, script = sys.argv[1:]
to_browser, from_here = os.pipe()  # the browser reads descriptor 3 and writes 4; messages end with a zero byte
from_browser, to_here = os.pipe()


def wire():
    read, write = os.dup(to_browser), os.dup(to_here)
    os.dup2(read, 3)
    os.dup2(write, 4)


process = subprocess.Popen(
    [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
     f"--user-data-dir={os.environ['HOME']}/profile", "about:blank"],
    close_fds=False, preexec_fn=wire, stderr=subprocess.DEVNULL)
os.close(to_here)
reader, number = os.fdopen(from_browser, "rb"), 0


def messages():
    held = b""
    while piece := reader.read1(65536):
        *whole, held = (held + piece).split(b"\0")
        yield from map(json.loads, whole)


incoming = messages()


def call(method, session=None, **parameters):
    global number
    number += 1
    message = {"id": number, "method": method, "params": parameters}
    if session:
        message["sessionId"] = session
    os.write(from_here, json.dumps(message).encode() + b"\0")
    for answer in incoming:
        if answer.get("id") == number:
            return answer["result"]
    sys.exit("the browser has ended")


try:
    target = call("Target.createTarget", url=url)["targetId"]
    session = call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    while call("Runtime.evaluate", session, expression="location.href !== 'about:blank' && document.readyState")["result"].get("value") != "complete":
        pass
    result = call("Runtime.evaluate", session, expression=open(script).read(), awaitPromise=True, returnByValue=True)
    print(result["result"].get("value", result))
    call("Browser.close")
    process.wait(timeout=20)
finally:
    process.kill()
