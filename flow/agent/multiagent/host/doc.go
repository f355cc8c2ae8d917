// Package host is a team of agents: a host model reads the conversation and either answers itself or hands over to one
// or several specialists. A specialist is a model, or any function, such as the Generate and Stream of another agent.
//
// Every specialist is a tool to the host. The host calls the tools of the specialists it wants; they get the
// conversation as the host got it, not the arguments of the call ([GetHandOffs] has those). One specialist's answer is
// the result as it is. The answers of several are put together by a [Summarizer], or else written one below the other.
//
// The team is a graph of package compose, in which the host's node has the key host and a specialist's its name.
package host
