// Package plantask gives an agent a list of tasks, to plan by and to keep to the plan.
//
// The middleware adds four tools: TaskCreate, TaskGet, TaskUpdate and TaskList. A task has a subject, a status, an
// owner and tasks that it waits for. Tasks are files of a [Backend], one JSON document each, so that several agents can
// work on one list, and a list outlives a run. When all tasks are completed the list is cleared.
//
// Calls of the tools of one middleware are serialized. Agents that share a list should share the middleware.
package plantask
