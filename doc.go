// Package weft is an embeddable agent runtime: the building blocks of LLM applications and the engine that runs them.
//
// There is nothing in this package itself. Start with adk for agents, compose for graphs, and schema for messages:
//
//   - schema: messages, streams, templates, tools.
//   - components: the interfaces of models, tools, retrievers and so on.
//   - compose: graphs, chains and workflows of components, with state, interrupts and checkpoints.
//   - adk: agents and the runner.
//   - callbacks: watching everything that runs.
package weft
