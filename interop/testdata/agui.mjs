// Speaks to a server with the client of AG-UI, checks every event by the schemas of the protocol, and prints what came of
// it as JSON.
import { HttpAgent } from '@ag-ui/client';
import { AgentCapabilitiesSchema, EventSchemas } from '@ag-ui/core/schemas';

const [what, url] = process.argv.slice(2);
const agent = new HttpAgent({ url: url + '/agui/desk', threadId: 't1' });
let n = 0;
const say = text => agent.addMessage({ id: 'u' + ++n, role: 'user', content: text });
const bad = [];

async function run(more = {}, onEvent = () => {}) {
  const events = [];
  const result = await agent.runAgent({ runId: 'run-' + ++n, tools: [], context: [], ...more }, {
    onEvent: ({ event }) => {
      events.push(event.type);
      const checked = EventSchemas.safeParse(event);
      if (!checked.success) bad.push(event.type + ': ' + checked.error.message);
      onEvent(event);
    },
  });
  return { events, result };
}
const texts = () => agent.messages.map(m => m.role + ': ' + (typeof m.content === 'string' ? m.content : JSON.stringify(m.content ?? null))
  + (m.toolCalls?.length ? ' ' + m.toolCalls.map(c => c.function.name + c.function.arguments).join() : ''));

const ways = {
  async capabilities() {
    const answer = await fetch(url + '/agui/desk/capabilities');
    const all = await answer.json();
    const checked = AgentCapabilitiesSchema.safeParse(all);
    if (!checked.success) bad.push(checked.error.message);
    return { all };
  },
  async talk() {
    say('Hi');
    const first = await run();
    say('Again');
    const second = await run();
    return { events: first.events, again: second.events, messages: texts() };
  },
  async approve() {
    say('Look!');
    const first = await run();
    const interrupts = agent.pendingInterrupts;
    const resume = interrupts.map(i => ({ interruptId: i.id, status: 'resolved', payload: { approved: process.argv[4] === 'yes' } }));
    const second = await run({ resume });
    return { events: first.events, reason: interrupts[0].reason, again: second.events, messages: texts() };
  },
  async ask() { // the question is left open
    say('Look!');
    await run();
    return { shown: agent.messages, interrupts: agent.pendingInterrupts };
  },
  async answer() { // another client, and another server, answer, and go on
    const { shown, interrupts } = JSON.parse(process.argv[4]);
    agent.setMessages(shown);
    await run({ runId: 'answer', resume: interrupts.map(i => ({ interruptId: i.id, status: 'resolved', payload: { approved: true } })) });
    agent.addMessage({ id: 'next', role: 'user', content: 'And now?' });
    await run({ runId: 'next' });
    return { messages: texts() };
  },
  async both() {
    const tools = [{ name: 'locate', description: 'Says where the user is.', parameters: { type: 'object', properties: {} } }];
    say('Look!');
    await run({ tools });
    const resume = agent.pendingInterrupts.map(i => ({ interruptId: i.id, status: 'resolved', payload: { approved: true } }));
    const call = agent.messages.flatMap(m => m.toolCalls ?? []).find(c => c.function.name === 'locate');
    agent.addMessage({ id: 'result', role: 'tool', toolCallId: call.id, content: '38.7' });
    await run({ tools, resume });
    return { messages: texts() };
  },
  async fail() {
    say('Hi');
    let message = '';
    try { await run({}, e => { if (e.type === 'RUN_ERROR') message = e.message; }); } catch (e) { message ||= e.message; }
    return { message };
  },
  async tools() {
    const tools = [{ name: 'locate', description: 'Says where the user is.', parameters: { type: 'object', properties: {} } }];
    say('Where?');
    const first = await run({ tools });
    const call = agent.messages.at(-1).toolCalls.at(-1);
    agent.addMessage({ id: 'result', role: 'tool', toolCallId: call.id, content: '38.7' });
    const second = await run({ tools });
    return { events: first.events, again: second.events, messages: texts() };
  },
  async state() { // a document that the page and the agent share
    agent.state = { lines: ['one'], text: 'long '.repeat(20) };
    say('Write');
    const first = await run();
    return { events: first.events, lines: agent.state.lines };
  },
  async client0() { // a real client of before 1.0
    const { HttpAgent: OldAgent } = await import('agui0');
    const old = new OldAgent({ url: url + '/agui/desk', threadId: 't1' });
    const events = [];
    for (const text of ['Hi', 'Again']) {
      old.addMessage({ id: 'u-' + text, role: 'user', content: text });
      await old.runAgent({ runId: 'run-' + text, tools: [], context: [] }, { onEvent: ({ event }) => { events.push(event.type); } });
    }
    return { events, messages: old.messages.map(m => m.role + ': ' + (m.content ?? '') + (m.toolCalls ?? []).map(c => c.function.name).join()) };
  },
  async old() {
    // What clients of before 1.0 send: no version of the protocol.
    const answer = await fetch(url + '/agui/desk', { method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ threadId: 't1', runId: 'r1', messages: [{ id: 'u', role: 'user', content: 'Hi' }], tools: [], context: [], state: {}, forwardedProps: {} }) });
    const events = (await answer.text()).split('\n').filter(l => l.startsWith('data:')).map(l => JSON.parse(l.slice(5)));
    return { events: events.map(e => e.type), messages: [events.filter(e => e.type === 'TEXT_MESSAGE_CONTENT').map(e => e.delta).join('')] };
  },
};
const out = await ways[what]();
console.log(JSON.stringify({ ...out, bad }));
process.exit(0);
