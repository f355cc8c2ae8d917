package said

// Unnamed holds what is known of calls whose names a model has not said yet: some give the ID of a call before its name,
// and clients are told of a call by its name. The zero value is empty.
type Unnamed struct{ args map[string]string }

// Add takes a piece of a call that clients do not know. It returns what of the arguments there is once the name is known.
func (u *Unnamed) Add(call, name, piece string) (args string, named bool) {
	if name != "" {
		args = u.args[call] + piece
		delete(u.args, call)
		return args, true
	}
	if u.args == nil {
		u.args = map[string]string{}
	}
	u.args[call] += piece
	return "", false
}
