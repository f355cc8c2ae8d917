// Package cron has runs executed by a service that is scaled to zero, such as Cloud Run: it computes while it answers a
// request. A process that submits or answers a run asks for it, and a clock asks each minute for what is due.
package cron

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/examples/recipes"
)

const (
	// atOnce is the number of runs that one request of the clock executes at a time.
	atOnce = 16
	// stopTime limits the time that a run takes to come to a safe point. Then it is stopped at once.
	stopTime = 10 * time.Second
)

// Handler executes runs for as long as a request may take, less the time that a stop takes. Its requests are
//
//	POST /runs/{id}   one run
//	POST /due         the runs that are due, which the clock asks for
//
// It must be for those who submit runs, and the clock, alone. When ends is closed, as the service ends, runs stop at the
// next safe point; the clock has them continue elsewhere.
func Handler(runs *dispatch.Dispatcher, limit time.Duration, ends <-chan struct{}) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /runs/{id}", func(w http.ResponseWriter, r *http.Request) {
		over, cancel := within(limit, ends)
		defer cancel()
		drain := dispatch.WithDrain(over.Done(), stopTime)
		after, again, err := recipes.Next(runs.Execute(context.WithoutCancel(r.Context()), r.PathValue("id"), drain))
		if err != nil {
			http.Error(w, "the run was broken off", http.StatusServiceUnavailable)
		} else if again { // by the clock, if not by who asks
			w.Header().Set("Retry-After", strconv.Itoa(int(after/time.Second)+1))
			w.WriteHeader(http.StatusAccepted)
		}
	})
	mux.HandleFunc("POST /due", func(w http.ResponseWriter, r *http.Request) {
		over, cancel := within(limit, ends)
		defer cancel()
		ids, err := recipes.Due(r.Context(), runs)
		if err != nil {
			http.Error(w, "the store cannot be asked", http.StatusServiceUnavailable)
			return
		}
		slots, all := make(chan struct{}, atOnce), sync.WaitGroup{}
		for _, id := range ids {
			if slots <- struct{}{}; over.Err() != nil { // the next request
				break
			}
			all.Go(func() { // what is broken off is due again
				drain := dispatch.WithDrain(over.Done(), stopTime)
				_, _ = runs.Execute(context.WithoutCancel(r.Context()), id, drain)
				<-slots
			})
		}
		all.Wait()
	})
	return mux
}

// within is over after the time, or when the service ends.
func within(limit time.Duration, ends <-chan struct{}) (context.Context, func()) {
	over, cancel := context.WithTimeout(context.Background(), limit)
	go func() {
		select {
		case <-ends:
			cancel()
		case <-over.Done():
		}
	}()
	return over, cancel
}
