package runs

// Status is the state of a run.
//
//	from             to       when
//	(none)           ready    it is submitted
//	(none)           running  a lease is taken with Create
//	ready            running  its lease is taken
//	waiting, paused, failed
//	                 running  the holder of its lease appends a record
//	running          any      its lease is settled
//	waiting          ready    its questions have replies
//	paused           ready    it is continued
//	ready, waiting   paused   it is stopped while no owner has its lease
//
// A run that is done stays so. A lease that ends without being settled leaves the status as it is.
type Status string

// The states of a run.
const (
	Ready   Status = "ready"   // it can be taken, once its time has come
	Running Status = "running" // an owner has it; it is due again when the lease has ended
	Waiting Status = "waiting" // for replies
	Paused  Status = "paused"  // it was stopped, and can be continued
	Done    Status = "done"
	Failed  Status = "failed" // it can be resumed after its last step
)

// HasEnded reports whether the run is done or has failed.
func (s Status) HasEnded() bool { return s == Done || s == Failed }
