// Package conversation keeps what a person and agents have said to each other, turn by turn.
//
// A checkpoint is how a run continues; a conversation is what was said. A turn is a question and everything that the
// agents say until the answer is there. It is begun, may wait for a reply (an approval, say) as long as it takes, and is
// kept whole when it has ended, or discarded: so what is kept is always a history that models accept. On one branch of a
// conversation one turn is open at a time, whichever caller tries to begin another, in this process or in another on the
// same store:
//
//	from      to         by
//	-         running    Begin
//	running   waiting    Claim.Wait: a run was interrupted, its checkpoint is saved
//	waiting   running    Resume
//	running   kept       Claim.Keep
//	running   discarded  Claim.Discard, or Discard of anybody
//	waiting   discarded  Discard
//
// Beside exchanges there are notes, of people or systems that no agent answers, and compactions, which stand for the turns
// before them in what models see. A rewind leaves the last turns out, to have a question answered again. Nothing is
// rewritten or removed by them.
//
// [Open] a conversation of a [Store], or make one of a store for checkpoints with [New], so that one store keeps both, in
// memory, in files, or in a database. Of two changes that do not fit together the first one counts, and the other is an
// error for its caller.
//
// Package weft uses it for its conversations; a program that runs agents with a runner of its own can do the same.
package conversation
