// Speaks to a server with the AI SDK as a page does, and prints what came of it as JSON.
const [version, what, url, arg] = process.argv.slice(2);
const { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls,
  uiMessageChunkSchema } = await import(version === '7' ? 'ai7' : 'ai');

class State {
  messages = []; status = 'ready'; error;
  pushMessage = m => { this.messages = [...this.messages, m]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (i, m) => { this.messages = [...this.messages.slice(0, i), m, ...this.messages.slice(i + 1)]; };
  snapshot = x => structuredClone(x);
}
class Chat extends AbstractChat { constructor(o) { super({ ...o, state: new State() }); } }

const bad = [], chunks = [];
const api = url + '/chat';
async function watched(...args) { // checks every chunk by the schema of the package
  const answer = await fetch(...args);
  if (!answer.body || !answer.ok) return answer;
  const [one, two] = answer.body.tee();
  (async () => {
    const schema = uiMessageChunkSchema();
    let rest = '';
    try {
      for await (const piece of two.pipeThrough(new TextDecoderStream())) {
        const lines = (rest + piece).split('\n');
        rest = lines.pop();
        for (const line of lines) {
          if (!line.startsWith('data: ') || line === 'data: [DONE]') continue;
          const value = JSON.parse(line.slice(6));
          chunks.push(value.type);
          const checked = await schema.validate(value);
          if (!checked.success) bad.push(line + ': ' + checked.error?.message);
        }
      }
    } catch (e) { if (e.name !== 'AbortError') bad.push(String(e)); }
  })();
  return new Response(one, answer);
}
let failure = '';
const chat = ({ body, ...more } = {}) => new Chat({ id: 'c1', transport: new DefaultChatTransport({ api, fetch: watched, body }),
  onError: e => { failure = e.message; }, ...more });
const idle = async c => { for (let i = 0; i < 500 && (c.status !== 'ready' && c.status !== 'error'); i++) await new Promise(r => setTimeout(r, 10)); };
const shown = c => c.messages.map(m => m.role + ': ' + m.parts.map(p => p.type === 'text' ? p.text : p.type === 'reasoning' ? '(' + p.text + ')'
  : p.type === 'dynamic-tool' || p.type.startsWith('tool-') ? `[${p.toolName ?? p.type.slice(5)} ${JSON.stringify(p.input)} ${p.state} ${p.output ?? p.errorText ?? ''}]`
  : p.type === 'step-start' ? '|' : p.type).join(''));

// What is left when a page hides what does not count, as docs/serving-ai-sdk.md says.
const counting = c => shown({ messages: c.messages.map(message => {
  const retracted = new Set(message.parts.filter(p => p.type === 'data-weft-retracted').map(p => p.data.id));
  const kept = message.parts.filter(p => p.type !== 'data-weft-retracted' && !retracted.has(p.providerMetadata?.weft?.id));
  return { ...message, parts: kept.filter((p, i) => p.type !== 'step-start' || kept[i + 1] && kept[i + 1].type !== 'step-start') };
}) });

async function stopped() { // a chat whose answer was stopped in the middle
  const c = chat();
  const sent = c.sendMessage({ text: 'Hi' });
  for (let i = 0; i < 500 && !c.messages.at(-1)?.parts?.some(p => p.type === 'text' && p.text.includes('word')); i++) await new Promise(r => setTimeout(r, 10));
  await c.stop();
  await sent;
  return c;
}

const ways = {
  async talk() {
    const c = chat();
    await c.sendMessage({ text: 'Hi' });
    await c.sendMessage({ text: 'Again' });
    return { messages: shown(c), counts: counting(c), run: !!c.messages[1].metadata?.weft?.run };
  },
  async approve() {
    const c = chat({ sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
    await c.sendMessage({ text: 'Look!' });
    const part = c.messages.at(-1).parts.find(p => p.approval);
    const asked = part.state;
    await c.addToolApprovalResponse({ id: part.approval.id, approved: arg === 'yes', reason: 'so' });
    await new Promise(r => setTimeout(r, 50));
    await idle(c);
    return { asked, messages: shown(c) };
  },
  async ask() { // the question is left open
    const c = chat();
    await c.sendMessage({ text: 'Look!' });
    return { messages: c.messages };
  },
  async answer() { // another page, and another server, answer
    const c = chat({ messages: JSON.parse(arg), sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
    c.messages = JSON.parse(arg);
    const part = c.messages.at(-1).parts.find(p => p.approval);
    await c.addToolApprovalResponse({ id: part.approval.id, approved: true });
    await new Promise(r => setTimeout(r, 50));
    await idle(c);
    return { messages: shown(c) };
  },
  async tools() {
    const tools = [{ name: 'locate', description: 'Says where the user is.', parameters: { type: 'object' } }];
    let c;
    c = chat({ sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls, body: { tools },
      onToolCall: ({ toolCall }) => { c.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: '38.7' }); } });
    await c.sendMessage({ text: 'Where?' });
    await new Promise(r => setTimeout(r, 100));
    await idle(c);
    return { messages: shown(c) };
  },
  async fail() {
    const c = chat();
    await c.sendMessage({ text: 'Hi' });
    return { failure, messages: shown(c) };
  },
  async stop() {
    const c = await stopped();
    return { status: c.status, messages: shown(c) };
  },
  async again() { // questions are answered again, and others asked in their place
    const c = chat();
    for (const text of ['1?', '2?', '3?']) await c.sendMessage({ text });
    await c.regenerate();
    await c.regenerate({ messageId: c.messages[3].id });
    await c.sendMessage({ text: 'First?', messageId: c.messages[0].id });
    const loaded = chat({ messages: c.messages }); // another page that has the messages
    loaded.messages = c.messages;
    await loaded.regenerate();
    return { messages: shown(loaded) };
  },
  async stopAndAsk() {
    const c = await stopped();
    await new Promise(r => setTimeout(r, 100));
    await c.regenerate();
    return { status: c.status, messages: shown(c), failure };
  },
  async resume() { // a page that is loaded again while the agent answers
    const first = chat();
    const sent = first.sendMessage({ text: 'Hi' });
    for (let i = 0; i < 500 && !(first.messages.at(-1)?.role === 'assistant' && first.messages.at(-1).parts.some(p => p.type === 'text')); i++) await new Promise(r => setTimeout(r, 10));
    const second = chat();
    const resumed = second.resumeStream();
    for (let i = 0; i < 500 && !second.messages.at(-1)?.parts?.some(p => p.type === 'text'); i++) await new Promise(r => setTimeout(r, 10));
    await fetch(url + '/go');
    await Promise.all([sent, resumed]);
    const nothing = chat();
    await nothing.resumeStream();
    return { messages: shown(second), nothing: nothing.messages.length };
  },
};
const out = await ways[what]();
await new Promise(r => setTimeout(r, 50));
console.log(JSON.stringify({ ...out, bad, chunks }));
process.exit(0);
