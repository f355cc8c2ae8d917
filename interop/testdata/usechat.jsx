// A page of React that uses useChat as its documentation says: what it shows is what the tests look for.
import { createRoot } from 'react-dom/client';
import { useState } from 'react';
import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';

const transport = new DefaultChatTransport({ api: '/chat' });

function Page() {
  const [text, setText] = useState('');
  const { messages, status, error, sendMessage, regenerate, stop, addToolApprovalResponse } = useChat({
    id: 'page', transport, resume: true,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  return <main>
    {messages.map(m => <section key={m.id}>{m.role}: {m.parts.map((p, i) => {
      if (p.type === 'text') return <span key={i}>{p.text}</span>;
      if (p.type !== 'dynamic-tool') return null;
      return <em key={i}>[{p.toolName} {p.state} {p.output}]
        {p.state === 'approval-requested' && <>
          <button id="approve" onClick={() => addToolApprovalResponse({ id: p.approval.id, approved: true })}>approve</button>
          <button id="reject" onClick={() => addToolApprovalResponse({ id: p.approval.id, approved: false })}>reject</button>
        </>}
      </em>;
    })}</section>)}
    <p>status {status} {error ? 'error ' + error.message : ''}</p>
    <form onSubmit={e => { e.preventDefault(); sendMessage({ text }); setText(''); }}>
      <input id="input" value={text} onChange={e => setText(e.target.value)} />
      <button id="send">send</button>
      <button id="again" type="button" onClick={() => regenerate()}>again</button>
      <button id="stop" type="button" onClick={() => stop()}>stop</button>
    </form>
  </main>;
}
createRoot(document.getElementById('root')).render(<Page />);
