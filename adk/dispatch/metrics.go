package dispatch

import (
	"time"

	"github.com/weftgo/weft/runs"
)

// Metrics is given what happens, to count and to measure it. Its methods are called in the goroutines of runs: they
// must be fast, and safe for concurrent use.
type Metrics interface {
	// Count adds one to a counter.
	Count(what Counter, run runs.Info)
	// Observe adds to a histogram.
	Observe(what Histogram, d time.Duration, run runs.Info)
}

// Counter is something that [Metrics] counts.
type Counter string

// The counters.
const (
	// CountAttempt is a stretch that begins, and CountTakeover one of a run whose process died.
	CountAttempt  Counter = "stretches"
	CountTakeover Counter = "takeovers"
	// CountRetry is a run that failed and will be continued, CountPoisoned one that failed because it killed its
	// processes.
	CountRetry    Counter = "retries"
	CountPoisoned Counter = "poisoned"
	// CountLost is a run that another process has taken over while this one was executing it.
	CountLost Counter = "lost"
	// CountFenced is a write of such a process that the store refused.
	CountFenced Counter = "fenced"
	// CountDrained is a run that was given back because its worker ended.
	CountDrained Counter = "drained"
	// Counters of what runs come to.
	CountDone    Counter = "done"
	CountFailed  Counter = "failed"
	CountWaiting Counter = "waiting"
	CountPaused  Counter = "paused"
)

// Histogram is something that [Metrics] measures.
type Histogram string

// The histograms.
const (
	// ObserveLag is for how long a run was due before it was taken, ObserveStretch how long it was executed.
	ObserveLag     Histogram = "lag"
	ObserveAttempt Histogram = "stretch"
	// ObserveRenewal observes the time that the store took to renew a lease.
	ObserveRenewal Histogram = "renewal"
)

func (d *TypedDispatcher[M]) count(what Counter, run runs.Info) {
	if d.conf.Metrics != nil {
		d.conf.Metrics.Count(what, run)
	}
}

func (d *TypedDispatcher[M]) observe(what Histogram, t time.Duration, run runs.Info) {
	if d.conf.Metrics != nil {
		d.conf.Metrics.Observe(what, max(t, 0), run)
	}
}
