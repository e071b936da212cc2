#!/usr/bin/env python3
"""pando route before servers that are killed, stopped and drained while 40 requests run: none is lost, none is doubled,
and each answer has the bytes of an undisturbed one.

usage: route_test.py PANDO
"""
import pathlib
import signal
import sys
import tempfile
import time
import unittest

import route_fleet as fleet

PANDO = str(pathlib.Path(sys.argv[1]).resolve())
N_REQUESTS, N_TOKENS = 40, 250


def soon(holds, seconds=60):
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()


class RouteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bodies = fleet.bodies(N_REQUESTS, N_TOKENS)
        cls.programs = []
        undisturbed = cls.start(fleet.replica, "--model-name", "demo")
        asked = [fleet.Asked(undisturbed, *one) for one in cls.bodies]
        failures = [one.failure for one in asked if one.join().failure]
        assert not failures, failures
        cls.expected = [fleet.told(one.text) for one in asked]
        undisturbed.end()

    @classmethod
    def start(cls, kind, *arguments):
        cls.programs.append(kind(PANDO, *arguments))
        return cls.programs[-1]

    @classmethod
    def tearDownClass(cls):
        for program in cls.programs:
            if program.process.poll() is None:
                program.process.kill()

    def router_of(self, urls, *arguments, n_up=None):
        """A router with --show-replica that finds so many replicas up."""
        router = self.start(fleet.router, urls, "--show-replica", *arguments)
        self.assertTrue(soon(lambda: self.metric(router, "pando_route_replica_up") == (n_up or len(urls))))
        return router

    def fleet_of(self, n, *arguments):
        replicas = [self.start(fleet.replica, "--model-name", "demo") for _ in range(n)]
        return replicas, self.router_of([one.url for one in replicas], "--policy", "round_robin", *arguments)

    def run_all(self, router, replicas=(), disturb=lambda: None):
        """All requests at once; `disturb` is called once half of the streams have begun, at each of the replicas."""
        asked = [fleet.Asked(router, *one) for one in self.bodies]
        streams = [one for one in asked if one.body["stream"]]
        urls = {one.url for one in replicas}

        def has_begun():
            begun = [one.replica for one in streams if one.begun.is_set()]
            return len(begun) >= len(streams) // 2 and urls <= set(begun)
        self.assertTrue(soon(has_begun))
        disturb()
        for one in asked:
            one.join()
        self.assertEqual(list(fleet.differing(asked, self.expected)), [])
        return asked

    def break_one(self, break_it):
        """Breaks one of two replicas while it has requests; again with others where all of them were over by then."""
        for _ in range(5):
            replicas, router = self.fleet_of(2)
            self.run_all(router, replicas, lambda: break_it(replicas[0].process))
            if self.metric(router, "pando_route_replica_failed_total") > 0:
                return replicas, router
            replicas[0].process.kill()
            self.end(router, replicas[1])
        self.fail("a replica that was broken has broken no request")

    def metric(self, router, name):
        text = fleet.ask(router, "/metrics")[2]
        return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))

    def end(self, *programs):
        for program in programs:
            self.assertEqual(program.end(), 0, "".join(program.lines))

    def test_killed(self):
        replicas, router = self.break_one(lambda process: process.kill())
        self.assertEqual(self.metric(router, "pando_route_lost_streams_total"), 0)
        self.end(router, replicas[1])

    def test_stopped(self):
        replicas, router = self.break_one(lambda process: process.send_signal(signal.SIGSTOP))
        self.end(router, replicas[1])
        replicas[0].process.kill()

    def test_drained(self):
        replicas, router = self.fleet_of(3)
        self.run_all(router, replicas, lambda: replicas[0].signal(signal.SIGTERM))
        self.assertEqual(replicas[0].process.wait(60), 0)
        self.run_all(router)
        self.end(router, *replicas[1:])

    def test_cut_off_by_drain_timeout(self):
        replicas = [self.start(fleet.replica, "--model-name", "demo", "--drain-timeout", "1") for _ in range(2)]
        router = self.router_of([one.url for one in replicas], "--policy", "round_robin")
        self.run_all(router, replicas, lambda: replicas[0].signal(signal.SIGTERM))
        self.end(router, replicas[1])

    def test_replicas_file_and_key(self):
        with tempfile.TemporaryDirectory() as folder:
            key, listed = pathlib.Path(folder, "key"), pathlib.Path(folder, "replicas")
            key.write_text("router:0123456789abcdef0123\n")
            options = ("--model-name", "demo", "--router-key-file", str(key), "--router-only")
            replicas = [self.start(fleet.replica, *options) for _ in range(2)]
            listed.write_text(replicas[0].url + "\n")
            router = self.router_of([], "--replicas-file", str(listed), "--router-key-file", str(key),
                                    "--policy", "round_robin", n_up=1)
            path, body = self.bodies[1]
            self.assertEqual(fleet.ask(replicas[0], path, body)[0], 401)
            seen = {fleet.ask(router, path, body)[1]["X-Pando-Routed-To"] for _ in range(3)}
            self.assertEqual(seen, {replicas[0].url})
            listed.write_text(replicas[1].url + "\n")
            router.signal(signal.SIGHUP)
            self.assertTrue(soon(lambda: fleet.ask(router, path, body)[1].get("X-Pando-Routed-To") == replicas[1].url))
            self.end(router, *replicas)

    def test_conversations_keep_their_replica(self):
        replicas, _ = self.fleet_of(2)
        router = self.router_of([one.url for one in replicas])
        context = "The river is long and the town is old. " * 20
        places = []
        for i in range(4):
            messages = [{"role": "user", "content": f"Talk {i}. " + context}]
            seen = set()
            for turn in range(4):
                status, headers, text = fleet.ask(router, "/v1/chat/completions",
                                                  {"messages": messages, "max_tokens": 4, "temperature": 0})
                self.assertEqual(status, 200, text)
                seen.add(headers["X-Pando-Routed-To"])
                messages += [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": f"And {turn}?"}]
            places.append(seen)
        self.assertEqual([len(seen) for seen in places], [1] * 4, places)
        self.end(router, *replicas)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
