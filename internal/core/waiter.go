package core

// A Waiter waits for work that runs beside the goroutine of a run, and does meanwhile what that goroutine alone can do:
// it passes events to the loop that reads them. It is for that goroutine.
type Waiter interface {
	// WaitFor returns when done is closed, also if what it does meanwhile ends the goroutine.
	WaitFor(done <-chan struct{})
}
