// Has agents of others use a server as their model, with tools of their own, and prints what came of it as JSON.
import { Agent, run, tool, hostedMcpTool, setDefaultOpenAIClient, setTracingDisabled, OpenAIResponsesModel } from '@openai/agents';
import { ChatOpenAI } from '@langchain/openai';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import OpenAI from 'openai';

const [what, url] = process.argv.slice(2);
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };

const sdk = options => {
  setTracingDisabled(true);
  const client = new OpenAI({ baseURL: url + '/v1', apiKey: 'x', maxRetries: 0 });
  setDefaultOpenAIClient(client);
  return new Agent({ name: 'front', instructions: 'Help.', model: new OpenAIResponsesModel(client, 'desk'), ...options });
};
const locate = () => tool({ name: 'locate', description: 'Locates.', parameters, strict: true, execute: async ({ city }) => 'at ' + city });

const ways = {
  async agents() {
    return { final: (await run(sdk({ tools: [locate()] }), 'Where?')).finalOutput };
  },
  async agentsStream() {
    const stream = await run(sdk({ tools: [locate()] }), 'Where?', { stream: true });
    for await (const _ of stream);
    await stream.completed;
    return { final: stream.finalOutput };
  },
  async agentsAsk() { // asked in words
    return { final: (await run(sdk({}), 'Look!')).finalOutput };
  },
  async agentsApprove() {
    const agent = sdk({ tools: [hostedMcpTool({ serverLabel: 'weft', serverUrl: 'https://example.com', requireApproval: 'always' })] });
    const first = await run(agent, 'Look!');
    for (const asked of first.interruptions) first.state.approve(asked);
    return { asked: first.interruptions.length, final: (await run(agent, first.state)).finalOutput };
  },
  async langchain() {
    const model = new ChatOpenAI({ model: 'desk', apiKey: 'x', useResponsesApi: true, maxRetries: 0, configuration: { baseURL: url + '/v1' } })
      .bindTools([{ type: 'function', function: { name: 'locate', description: 'Locates.', parameters } }]);
    const messages = [new HumanMessage('Where?')];
    for (;;) {
      const answer = await model.invoke(messages);
      messages.push(answer);
      if (!answer.tool_calls?.length) return { final: answer.text };
      for (const c of answer.tool_calls) messages.push(new ToolMessage({ tool_call_id: c.id, content: 'at ' + c.args.city }));
    }
  },
};
console.log(JSON.stringify(await ways[what]()));
