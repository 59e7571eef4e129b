# Completes ping-llm in bash (3.2 or later). Made by `ping-llm completion bash`.
_ping_llm() {
  local current=${COMP_WORDS[COMP_CWORD]} command='' option='' takes='' kind='' found='' options='' given=0 word i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    case $word in
      --*) option=$word given=0 ;;
      =) ;;
      *)
        case "$option:$command" in
          @GROUPS@) command=${command:+$command }$word ;;
          *) given=$((given + 1)) ;;
        esac
        ;;
    esac
  done
  [[ $current != = ]] || current=''

  case "$command $option" in
@OPTIONS@
  esac
  if [[ $current == -* || -z $takes || $takes$given == one[1-9]* ]]; then
    kind='' found=''
    case $command in
@COMMANDS@
    esac
    [[ $current != -* ]] || kind=options
  fi

  [[ $kind != options ]] || found=$options
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(
    compgen -W "$found" -- "$current"
    case $kind in
      (files) compgen -f -- "$current" ;;
      (folders) compgen -d -- "$current" ;;
    esac
  )
  case $kind in files | folders) compopt -o filenames 2>/dev/null ;; esac
}
complete -F _ping_llm ping-llm
