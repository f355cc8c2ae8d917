package dispatch

import "time"

// ExecuteOption changes how [TypedDispatcher.Execute] executes a run.
type ExecuteOption func(*executeOptions)

// executeOptions holds the options of a stretch.
type executeOptions struct {
	drain *drain
	// meter measures the stretch, nil if it is not measured.
	meter *Meter
	// ttl is the TTL of the lease, 0 for TypedConfig.TTL.
	ttl time.Duration
	// turn gives the turn of a suspect back, nil if the caller has none.
	turn func()
}

// WithDrain has the stretch end early when the channel is closed, as a worker that drains does: the run is stopped
// at the next safe point, and is ready for the next caller. After the timeout, if it is not 0, it is stopped at once, and
// calls in flight are abandoned; a negative timeout stops it at once to begin with.
func WithDrain(begins <-chan struct{}, timeout time.Duration) ExecuteOption {
	return func(o *executeOptions) {
		d := newDrain(timeout)
		o.drain = d
		if begins == nil {
			return
		}
		go func() {
			select {
			case <-begins:
				d.begin()
			case <-d.begun.Done():
			}
		}()
	}
}

// WithTTL is TypedConfig.TTL for one stretch: how long after the death of this process others continue the run. The
// caller may have its own way to find out that a process has died, which should not be faster. Less than a second is a
// second.
func WithTTL(ttl time.Duration) ExecuteOption {
	return func(o *executeOptions) { o.ttl = max(ttl, time.Second) }
}

// WithMeter has a meter measure the stretch.
func WithMeter(m *Meter) ExecuteOption {
	return func(o *executeOptions) { o.meter = m }
}
