// Speaks to a server with the client of OpenAI, and prints what came of it as JSON.
import OpenAI from 'openai';

const [what, url] = process.argv.slice(2);
const client = new OpenAI({ baseURL: url + '/v1', apiKey: 'x', maxRetries: 0 });
const messages = [{ role: 'user', content: 'Hi' }];
const nameOf = promise => promise.then(() => 'none', e => e.constructor.name);

const ways = {
  async basics() {
    const models = [];
    for await (const m of client.models.list()) models.push(m.id);
    const chat = (await client.chat.completions.create({ model: 'desk', messages })).choices[0].message.content;
    let stream = '', usage = false;
    for await (const c of await client.chat.completions.create({ model: 'desk', messages, stream: true, stream_options: { include_usage: true } })) {
      stream += c.choices[0]?.delta?.content ?? '';
      usage ||= !!c.usage;
    }
    const response = (await client.responses.stream({ model: 'desk', input: 'Hi' }).finalResponse()).output_text;
    const nobody = await nameOf(client.chat.completions.create({ model: 'nobody', messages }));
    const bad = await nameOf(client.chat.completions.create({ model: 'desk', messages, n: 2 }));
    return { models, chat, stream, usage, response, nobody, bad };
  },
  async formats() {
    const schema = { type: 'object', properties: { sky: { enum: ['sun', 'rain'] } }, required: ['sky'], additionalProperties: false };
    const response_format = { type: 'json_schema', json_schema: { name: 'weather', strict: true, schema } };
    const format = { type: 'json_schema', name: 'weather', strict: true, schema };
    const chat = JSON.parse((await client.chat.completions.create({ model: 'desk', messages, response_format })).choices[0].message.content);
    const stream = JSON.parse((await client.chat.completions.stream({ model: 'desk', messages, response_format }).finalContent()));
    const response = await client.responses.create({ model: 'desk', input: 'Hi', text: { format } });
    const streamed = await client.responses.stream({ model: 'desk', input: 'Hi', text: { format } }).finalResponse();
    return { all: [chat, stream, JSON.parse(response.output_text), JSON.parse(streamed.output_text)], shown: response.text.format };
  },
  async tools() {
    let args;
    const run = client.chat.completions.runTools({
      model: 'desk', messages, stream: true,
      tools: [{ type: 'function', function: {
        name: 'locate', description: 'Says where the user is.', parse: JSON.parse,
        parameters: { type: 'object', properties: { precise: { type: 'boolean' } } },
        function: given => { args = given; return '38.7'; },
      } }],
    });
    return { final: await run.finalContent(), args };
  },
  async approve() {
    const first = await client.responses.create({ model: 'desk', input: 'Look!' });
    const asked = first.output[0];
    const second = await client.responses.create({ model: 'desk', previous_response_id: first.id,
      input: [{ type: 'mcp_approval_response', approval_request_id: asked.id, approve: true }] });
    return { asked: asked.type, final: second.output_text };
  },
  async ask() { // the question is left open
    const first = await client.responses.create({ model: 'desk', input: 'Look!' });
    return { id: first.id, request: first.output[0].id };
  },
  async answer() { // another client, and another server, answer, and go on
    const [id, request] = process.argv.slice(4);
    const second = await client.responses.create({ model: 'desk', previous_response_id: id,
      input: [{ type: 'mcp_approval_response', approval_request_id: request, approve: true }] });
    const third = await client.responses.create({ model: 'desk', previous_response_id: second.id, input: 'And now?' });
    return { final: second.output_text, next: third.output_text };
  },
  async retries() { // with the retries that the client makes by itself
    let requests = 0;
    const eager = new OpenAI({ baseURL: url + '/v1', apiKey: 'x', fetch: (...a) => { requests++; return fetch(...a); } });
    const status = await eager.chat.completions.create({ model: 'desk', messages }).then(() => 200, e => e.status);
    return { requests, status };
  },
  async abort() {
    const stream = await client.chat.completions.create({ model: 'desk', messages, stream: true });
    for await (const c of stream) {
      if (c.choices[0]?.delta?.content) stream.controller.abort();
    }
    return { aborted: stream.controller.signal.aborted };
  },
};
console.log(JSON.stringify(await ways[what]()));
