package local

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// tempPrefix starts the names of files that are being written. They lie beside the file that they will replace.
const tempPrefix = ".weft-tmp-"

// A draft is a file that is being written. It takes its place as a whole, or not at all. Local.writing is held while
// one is made, published or discarded.
//
// It holds its directory open: whatever path leads there later, the draft is found again and does not stay behind.
type draft struct {
	*os.File
	root *os.Root
	// dir is the directory of the draft and of the file, at is the path that led there, ending in "/" unless empty.
	dir        *os.Root
	at         string
	temp, name string   // in dir
	made       []string // the directories that were made for it, the deepest first
}

var errMoved = errors.New("its directory was moved away meanwhile")

// draft starts a file. It fails if the process may not write the file that is there.
func (l *Local) draft(name string) (*draft, error) {
	target, err := l.target(name)
	if err != nil {
		return nil, err
	}
	d := &draft{root: l.root}
	d.at, d.name = path.Split(target)
	old, info, err := l.openFile(target, os.O_WRONLY) // may we?
	switch {
	case err == nil:
		old.Close()
		mode := info.Mode().Perm()
		return d, d.open(&mode)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, notADirectory(err)
	}
	if dir := path.Dir(name); target == name && dir != "." { // a link that leads nowhere makes no directories
		d.made = l.missingDirs(dir)
		if err := l.root.MkdirAll(dir, 0o755); err != nil {
			d.removeDirs()
			return nil, notADirectory(err)
		}
	}
	return d, d.open(nil)
}

// open makes the file, with the permissions of the one that it is to replace.
func (d *draft) open(mode *fs.FileMode) (err error) {
	if d.dir, err = d.root.OpenRoot(d.at + "."); err != nil {
		d.removeDirs()
		return err
	}
	d.temp = tempPrefix + rand.Text()
	if d.File, err = d.dir.OpenFile(d.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
		d.dir.Close()
		d.removeDirs()
		return err
	}
	if mode != nil {
		err = d.Chmod(*mode)
	}
	if err != nil {
		d.discard()
	}
	return err
}

// publish puts the file in its place. If it cannot, nothing is left of it.
func (d *draft) publish() error {
	err := d.Close()
	if err == nil && d.moved() {
		err = errMoved
	}
	if err == nil {
		err = d.dir.Rename(d.temp, d.name)
	}
	if err != nil {
		d.discard()
		return err
	}
	d.dir.Close()
	return nil
}

// moved reports whether the path of the directory leads elsewhere by now.
func (d *draft) moved() bool {
	then, err := d.dir.Stat(".")
	if err != nil {
		return true
	}
	now, err := d.root.Stat(d.at + ".")
	return err != nil || !os.SameFile(then, now)
}

// discard leaves nothing of the file.
func (d *draft) discard() {
	_ = d.Close()
	_ = d.dir.Remove(d.temp)
	d.dir.Close()
	d.removeDirs()
}

// removeDirs removes the directories that were made, as far as nothing else came into them.
func (d *draft) removeDirs() {
	for _, dir := range d.made {
		if info, err := d.root.Lstat(dir); err != nil || !info.IsDir() || d.root.Remove(dir) != nil {
			return
		}
	}
}

// missingDirs returns the directories on the path to dir, and dir, that do not exist, the deepest first.
func (l *Local) missingDirs(dir string) (missing []string) {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, err := l.root.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append(missing, dir)
	}
	return missing
}

// notADirectory keeps an error of writing below a file from being taken for a missing file.
func notADirectory(err error) error {
	if missing(err) && !errors.Is(err, fs.ErrNotExist) {
		return errors.New("a directory on the way to it is a file")
	}
	return err
}

// target is the file that name leads to: name itself, or what it links to. It is not cleaned, as a ".." behind a linked
// directory means the parent of what that links to. Whether it stays in the root is up to os.Root.
func (l *Local) target(name string) (string, error) {
	for range 40 {
		link, err := l.root.Readlink(name)
		if err != nil {
			return name, nil
		}
		link = filepath.ToSlash(link)
		if isAbs(link) {
			return "", ErrOutsideRoot
		}
		dir, _ := path.Split(name)
		name = dir + link
	}
	return "", errors.New("too many levels of symbolic links")
}
