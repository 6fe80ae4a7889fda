"""What an operator is woken for: control.alert_command gets a JSON object when something begins, is over, or ends."""
import json

import harness
from running import Crawl


def told(path):
    try:
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    except FileNotFoundError:
        return []


def from_begin_to_end(report, path):
    """A disk that fills, a stall, and the end; each once, and in order."""
    alerts = path + "/alerts"
    with harness.Web(path, hosts=10, addresses=10, pages=100000) as web:
        with Crawl(web, path + "/crawl", "--no-warc", "-s", f"control.alert_command=cat >> {alerts}",
                   "-s", "control.alert_after=2s", "-s", "log.status_interval=200ms", ip_wait="1ms", wait="50ms") as crawl:
            harness.until(lambda: crawl.status("pages") >= 20)
            crawl.ask("set", "crawl.min_free_disk=1000000Gi")
            harness.until(lambda: len(told(alerts)) == 1)
            crawl.ask("set", "crawl.min_free_disk=1Mi")
            harness.until(lambda: len(told(alerts)) == 2)
            crawl.ask("set", "politeness.host_delay=1h")
            harness.until(lambda: len(told(alerts)) == 3)
            crawl.ask("stop")
            crawl.process.wait(30)
        lines = told(alerts)
        report.equal("each is told once, and in order", [(a["event"], a["state"]) for a in lines],
                     [("disk", "begins"), ("disk", "over"), ("stalled", "begins"), ("stalled", "over"), ("end", "ended")])
        report.check("what is told says which crawl, and how it stands", all(
            a["directory"] == path + "/crawl" and a["status"]["pages"] > 0 and a["status"]["pid"] == crawl.process.pid
            for a in lines), str(lines)[:600])
        report.equal("and what binds it", lines[0]["status"]["limit"], "disk")
        report.equal("at its end the state is the last", lines[-1]["status"]["state"], "stopped")
        report.check("ragno.log has them, too", "INFO main alerts: alert event=disk state=begins"
                     in crawl.log(), crawl.log()[-900:])


def commands_that_fail(report, path):
    """One that is not there, or leaves at once, costs the crawl nothing."""
    for name, command in (("missing", "/no/such/command"), ("failing", "exit 7"), ("deaf", "exec <&-; sleep 0.1")):
        with harness.Web(path, hosts=5, pages=50) as web:
            directory = f"{path}/{name}"
            result = harness.crawl(web, directory, "--no-warc", "-s", f"control.alert_command={command}")
            report.equal(f"{name}: the crawl is whole", (result.returncode, len(harness.db_rows(directory)) >= 50), (0, True))
            with open(directory + "/ragno.log", encoding="utf-8") as file:
                log = file.read()
            report.equal(f"{name}: what has failed is told", "an alert was not told" in log, name != "deaf")


if __name__ == "__main__":
    harness.main(from_begin_to_end, commands_that_fail)
