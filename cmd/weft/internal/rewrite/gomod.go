package rewrite

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

const minGo = "1.25.0"

// rewriteGoMod has a go.mod require what the imports of its module need, which are given with their new paths. The
// notes say what was dropped and what is left.
func rewriteGoMod(name string, text []byte, imports map[string]bool, version string) ([]byte, []string, error) {
	f, err := modfile.Parse(name, text, nil)
	if err != nil {
		return nil, nil, err
	}
	if f.Module != nil && f.Module.Mod.Path == einoModule {
		return nil, nil, fmt.Errorf("%s: this is Eino itself, or the shim: it is not migrated", name)
	}
	needed, left := needs(imports)
	before := required(f)
	touched := len(left) > 0
	for path := range before {
		touched = touched || path == einoModule || strings.HasPrefix(path, extModule+"/")
	}
	if !touched {
		return text, nil, nil
	}
	dropped, notes := dropEino(f, left)
	require(f, slices.DeleteFunc(needed, func(path string) bool { return before[path] }), version, dropped)
	if len(left) > 0 {
		more, err := useShim(f, version)
		if err != nil {
			return nil, nil, err
		}
		notes = append(notes, more...)
		notes = append(notes, "these have no counterpart here and stay: "+strings.Join(left, ", "))
	}
	raised, err := raiseGo(f)
	if err != nil {
		return nil, nil, err
	}
	f.Cleanup()
	out, err := f.Format()
	return out, append(notes, raised...), err
}

// needs returns Weft's modules that the imports need, and the packages of extension modules that stay.
func needs(imports map[string]bool) (modules, left []string) {
	own := map[string]bool{jinjaModule: true}
	for _, c := range counterparts {
		own[c.module] = true
	}
	for path := range imports {
		rel, inWeft := strings.CutPrefix(path, weftModule+"/")
		switch {
		case own[path]:
			modules = append(modules, path)
		case inWeft && slices.Contains(einoPackages, rel) && !slices.Contains(modules, weftModule):
			modules = append(modules, weftModule)
		case strings.HasPrefix(path, extModule+"/"):
			left = append(left, path)
		}
	}
	slices.Sort(modules)
	slices.Sort(left)
	return modules, left
}

func required(f *modfile.File) map[string]bool {
	all := map[string]bool{}
	for _, r := range f.Require {
		all[r.Mod.Path] = true
	}
	return all
}

// require has a go.mod require other modules instead of some. Those are added first: a block that is left with one
// line for a moment would be taken apart.
func require(f *modfile.File, paths []string, version string, dropped map[string]bool) {
	if len(paths) > 0 {
		all := slices.Clone(f.Require)
		for _, path := range paths {
			all = append(all, &modfile.Require{Mod: module.Version{Path: path, Version: version}})
		}
		f.SetRequireSeparateIndirect(all)
	}
	for path := range dropped {
		_ = f.DropRequire(path)
	}
}

// dropEino returns the requirements that no file imports any more, and drops such replacements. Extension modules that
// are only required indirectly are for go mod tidy.
func dropEino(f *modfile.File, left []string) (dropped map[string]bool, notes []string) {
	dropped = map[string]bool{}
	stays := func(mod string) bool {
		return slices.ContainsFunc(left, func(p string) bool { return p == mod || strings.HasPrefix(p, mod+"/") })
	}
	einoStays := len(left) > 0
	for _, r := range f.Require {
		path := r.Mod.Path
		rel, ext := strings.CutPrefix(path, extModule+"/")
		_, known := counterparts[rel]
		switch {
		case path == einoModule && r.Indirect:
			einoStays = true
			notes = append(notes, "a dependency needs "+einoModule+": if its types meet yours, weft migrate eino -shim")
		case path == einoModule && !einoStays, ext && known && !stays(path):
			dropped[path] = true
		}
	}
	for _, r := range slices.Clone(f.Replace) {
		rel, ext := strings.CutPrefix(r.Old.Path, extModule+"/")
		_, known := counterparts[rel]
		shim := r.New.Path == shimModule || strings.HasSuffix(r.New.Path, "/compat/eino")
		if r.Old.Path == einoModule && (!einoStays || !shim) || ext && known && !stays(r.Old.Path) {
			notes = append(notes, fmt.Sprintf("dropped: replace %s => %s", r.Old.Path,
				strings.TrimSpace(r.New.Path+" "+r.New.Version)))
			_ = f.DropReplace(r.Old.Path, r.Old.Version)
		}
	}
	return dropped, notes
}

// useShim has Eino's packages be the packages of Weft.
func useShim(f *modfile.File, version string) (notes []string, err error) {
	for _, r := range f.Replace {
		if r.Old.Path == einoModule && (r.New.Path == shimModule || strings.HasSuffix(r.New.Path, "/compat/eino")) {
			return nil, nil
		}
	}
	err = f.AddReplace(einoModule, "", shimModule, version)
	return []string{fmt.Sprintf("added: replace %s => %s %s", einoModule, shimModule, version)}, err
}

func raiseGo(f *modfile.File) (notes []string, err error) {
	if f.Go != nil && semver.Compare("v"+semverOf(f.Go.Version), "v"+minGo) >= 0 {
		return nil, nil
	}
	old := "none"
	if f.Go != nil {
		old = f.Go.Version
	}
	return []string{fmt.Sprintf("raised: go %s, from %s", minGo, old)}, f.AddGoStmt(minGo)
}

// semverOf turns a version of Go, such as 1.21 or 1.26rc1, into one that can be compared.
func semverOf(version string) string {
	if i := strings.IndexAny(version, "rb"); i > 0 {
		version = version[:i]
	}
	return version
}

// shimGoMod has a go.mod replace Eino by the shim, and changes nothing else.
func shimGoMod(name string, text []byte, version string) ([]byte, []string, error) {
	f, err := modfile.Parse(name, text, nil)
	if err != nil {
		return nil, nil, err
	}
	if !required(f)[einoModule] {
		return text, []string{"does not require " + einoModule + ": there is nothing to replace"}, nil
	}
	notes, err := useShim(f, version)
	if err != nil || len(notes) == 0 {
		return text, notes, err
	}
	raised, err := raiseGo(f)
	if err != nil {
		return nil, nil, err
	}
	f.Cleanup()
	out, err := f.Format()
	return out, append(notes, raised...), err
}
