// Package deep makes an agent for long work: one that plans with a list, works on files, and hands parts of the work to
// agents of its own.
//
// It is a [adk.TypedChatModelAgent] with an instruction for that kind of work and three things to do it with: the tool
// write_todos keeps a list of things to do in the session, the tools of package middlewares/filesystem give access to
// files and to a shell, and the tool task has another agent do a part of the work. That agent starts with nothing but the
// description of its task, and only its result comes back, so that the history of the caller stays short.
//
// Each of the three can be left out, and middlewares of any other package can be added.
package deep
