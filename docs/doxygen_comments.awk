#!/usr/bin/awk -f
# Our comments as Doxygen reads them: // before a declaration becomes ///, behind one ///<, with the lines
# that go on under it; the first comment of a file is about the file.
NR == 1 && /^\/\// { print "/// @file"; sub(/^\/\//, "///"); print; top = 1; next }
top && /^\/\// { sub(/^\/\//, "///"); print; next }
{ top = 0 }
/^ *\/\// {
  if (behind > 0 && match($0, /\/\//) == behind) sub(/\/\//, "///<")
  else { sub(/\/\//, "///"); behind = 0 }
  print
  next
}
{ behind = 0 }
/[;,{}] +\/\/ / || /[A-Za-z0-9)] +\/\/ / { behind = match($0, /\/\/ /); sub(/\/\/ /, "///< ") }
{ print }
