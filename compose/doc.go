// Package compose runs graphs of functions and components: chat models, templates, tools, retrievers, lambdas and
// other graphs.
//
// There are three builders. A [Graph] is nodes, edges and branches. A [Chain] is a graph whose nodes follow one
// another, with [ChainBranch] and [Parallel] for what does not. In a [Workflow] every node declares where its input
// comes from, down to single fields ([MapFields]). Compile turns each of them into a [Runnable], an immutable plan
// that any number of goroutines may call. A graph can be a node of another graph, and a builder can be compiled again.
//
// # Values and streams
//
// A Runnable has four forms: value or stream in, value or stream out. Invoke runs every node on values; Stream, Collect
// and Transform run every node on streams, so that a node may work on the first chunks of one that is still producing. A
// node need not have the form that a call wants: a value becomes a stream of one chunk, and a stream is joined into a
// value, by the rules of its type ([RegisterStreamChunkConcatFunc] adds rules). An error in the middle of a stream
// belongs to its reader. Code that is given a stream closes it; the runtime closes what is not read.
//
// # Types
//
// The types of both ends of an edge are compared when the edge is added. They fit if they are identical or the target
// is an interface that the source implements. If the source is an interface that the target implements, the values
// are checked when they arrive. Everything else is an error, also between named types that Go would let pass. A node
// that is added [WithInputKey] or [WithOutputKey] takes or gives a map[string]any on that side. A passthrough has the
// type of its neighbours. Several outputs for one node are merged: maps by their keys, other types by what
// [RegisterValuesMergeFunc] says.
//
// # When nodes run
//
// A graph or chain runs in steps: a node is ready when any value arrived for it, all ready nodes run side by side, and
// when they have returned, the next ones are known. Graphs that run so may have cycles; [WithMaxRunSteps] ends them.
// A workflow, and a graph compiled with [AllPredecessor], runs by dependencies: a node starts as soon as all its
// predecessors are done or were skipped by a branch, and a node whose predecessors are all skipped is skipped, too.
// Either way the run is over as soon as [END] has its value.
//
// Each run may have a state of its own ([WithGenLocalState]), which nodes reach with [ProcessState] and handlers
// before and after a node with [WithStatePreHandler] and [WithStatePostHandler].
//
// # Errors
//
// What is wrong with a graph is reported by the call that made it so, and again by Compile. A run fails with a
// [RunError]: it has the path of the node, through nested graphs, and unwraps to the original error. Panics of nodes,
// conditions, handlers and callbacks are such errors. When one of several running nodes fails, the context of the
// others is cancelled and the run waits for them.
//
// # Interrupts
//
// A run can stop and continue later, in another process if need be. It stops before or after nodes named when compiling
// ([WithInterruptBeforeNodes]), when a node returns [Interrupt] or [StatefulInterrupt], or when code outside of the run
// asks for it ([WithGraphInterrupt]). The call then returns an error that [ExtractInterruptInfo] understands. If the
// graph has a [CheckPointStore] and the call had a [WithCheckPointID], the run was saved: calling again with that ID
// continues from there. The answer to the code that interrupted travels in the context ([ResumeWithData]) and is read
// with [GetResumeContext]; what is finished does not run again.
package compose
