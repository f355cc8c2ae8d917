// Package planexecute makes an agent that plans first and then works through its plan.
//
// A planner makes a list of steps. An executor, which has the tools, does the first of them. A replanner looks at what
// came of it, and either makes a new plan of what is left, or answers. Executor and replanner take turns until then:
//
//	planner → (executor → replanner) → (executor → replanner) → …
//
// The three share the session of the run: what the user asked, the plan, and the steps that were done are session
// values, under the keys of this package. [NewPlanner], [NewExecutor] and [NewReplanner] make agents that keep to that;
// one of your own in the place of any of them has to read and write the same values.
package planexecute
