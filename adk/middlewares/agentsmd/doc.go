// Package agentsmd shows an agent the instructions that a project has for agents.
//
// Such instructions are in files, usually AGENTS.md, and may import others: @docs/style.md. The middleware loads them
// and puts them into the history as a message of the user, before the first one that is there. The message is part of
// the run's state, but no event, so that it is not part of what the application keeps as the conversation.
//
// Register the middleware after summarization: then the files are put back when the history was summarized, and are not
// summarized away.
package agentsmd
