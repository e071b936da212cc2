#!/usr/bin/env python3
"""smolagents' ToolCallingAgent, whole and streamed. Its answer is a call of the tool `final_answer`.

usage: smolagents_test.py PANDO [ADDRESS]
"""
import smolagents

import published
from published import KEY, QUESTION, PublishedTest, weather


class SmolAgents(PublishedTest):
    def test_agent(self):
        for streams in (False, True):
            published.calls.clear()
            model = smolagents.OpenAIModel("demo", api_base=self.base_url, api_key=KEY, temperature=0, max_tokens=200)
            agent = smolagents.ToolCallingAgent([smolagents.tool(weather)], model, max_steps=4, stream_outputs=streams,
                                                verbosity_level=smolagents.LogLevel.OFF)
            self.check_weather(agent.run(QUESTION))


if __name__ == "__main__":
    published.main()
