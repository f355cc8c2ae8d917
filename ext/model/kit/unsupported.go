package kit

import (
	"errors"
	"fmt"
)

// Unsupported collects the settings of a request that the chosen model is known to reject. They are errors, found before
// anything is sent, unless Drop is set: then they are left out, and the answer lists them.
type Unsupported struct {
	// Drop is Config.DropUnsupported.
	Drop bool

	dropped []string
	errs    []error
}

// Reject takes a field out of the request. why says what to change, and names the other setting if two do not fit.
// Fields that are not set are no fault.
func (u *Unsupported) Reject(req *Object, field, why string) {
	if req.Get(field) == nil {
		return
	}
	u.Refuse(field, why)
	req.Set(field, nil)
}

// Refuse is Reject for a setting that is not in the request yet, or that is not left out as a whole.
func (u *Unsupported) Refuse(setting, why string) {
	if u.Drop {
		u.Omit(setting)
		return
	}
	u.errs = append(u.errs, fmt.Errorf("%s: %s, or set DropUnsupported", setting, why))
}

// Omit notes a setting that is left out by the adapter's own rules, whatever Drop is.
func (u *Unsupported) Omit(setting string) { u.dropped = append(u.dropped, setting) }

// Err returns the faults, which match [ErrInvalid].
func (u *Unsupported) Err() error {
	if len(u.errs) == 0 {
		return nil
	}
	return fmt.Errorf("%w%w", errors.Join(u.errs...), silent{ErrInvalid})
}

// silent is an error that others can be compared with, and that adds nothing to a text.
type silent struct{ error }

func (silent) Error() string { return "" }

func (s silent) Unwrap() error { return s.error }

// Note lists what was left out in the Extra of an answer, under [DroppedSettingsKey].
func (u *Unsupported) Note(extra *map[string]any) {
	if len(u.dropped) > 0 {
		text, _ := Encode(u.dropped) // of texts: cannot fail
		SetExtra(extra, DroppedSettingsKey, string(text))
	}
}
