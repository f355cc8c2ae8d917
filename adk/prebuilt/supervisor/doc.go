// Package supervisor makes one agent out of several: a supervisor, and workers that it hands the work over to.
//
// The supervisor decides who continues. Each worker hands the run back when it has ended, so that the supervisor sees
// what came of it, hands over to another, or answers. A worker can be a system with a supervisor of its own.
//
// Workers see what was said before them, the supervisor sees everything. A worker that exits ends the whole run.
package supervisor
