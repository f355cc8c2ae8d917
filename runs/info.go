package runs

import "time"

// Info describes a run, without messages and results: a store knows it without decoding anything.
type Info struct {
	// Tenant is the tenant of the store that has the run, "" without tenants. The others are as the run was submitted (see
	// [Spec]); Parent is the run that waits for this one, "" if none does.
	Tenant, ID, Agent, Queue, Parent, Key string
	Status                                Status
	// Token is the token of the lease taken last, and Owner the process that took it; Owner is "" when the lease was settled.
	Token uint64
	Owner string
	// LeaseUntil is the time at which the lease ends unless its owner renews it.
	LeaseUntil time.Time
	// Waiting are the questions of a run that waits, also of one that was paused while it waited.
	Waiting  []Question
	Tags     map[string]string
	Priority int
	// Attempts counts the leases since the last one that was settled, or that recorded a step behind its first.
	Attempts int
	// Retries counts how often in a row it was settled as ready with an error.
	Retries int
	// Steps is the number of records that the journal has, and Bytes what is kept of the run.
	Steps int
	Bytes int64
	// WakeAt is the time at which the run becomes due, Expires the one at which a sweep removes it; zero for never.
	Created, Updated, WakeAt, Expires time.Time
	// Deadline is the time after which the run fails instead of being executed, zero for none.
	Deadline time.Time
	// Usage counts the tokens of its models, up to when its lease was settled last.
	Usage Usage
	// Born grows from run to run of a store: runs of one key are executed in that order. 0 is not known.
	Born uint64
	// Build is the build that submitted the run, Trace the trace that it belongs to, as the application writes it.
	Build, Trace string
	// Error is the reason why the run failed, or is tried again.
	Error string
	// Now is the time of the store when the lease was taken, in the Info of a lease. It is zero elsewhere.
	Now time.Time
}
