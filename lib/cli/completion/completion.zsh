#compdef ping-llm
# Completes ping-llm in zsh. Made by `ping-llm completion zsh`.
_ping_llm() {
  local current=$words[CURRENT] command='' option='' takes='' kind='' word
  local -i given=0 i
  local -a found options
  for ((i = 2; i <= CURRENT; i++)); do
    word=$words[i]
    if [[ $word == --*=* ]]; then
      option=${word%%=*} given=$((i < CURRENT))
    elif ((i == CURRENT)); then
      break
    elif [[ $word == --* ]]; then
      option=$word given=0
    else
      case "$option:$command" in
        @GROUPS@) command=${command:+$command }$word ;;
        *) given+=1 ;;
      esac
    fi
  done
  if [[ $current == --*=* ]]; then
    compset -P '*='
    current=${current#*=}
  fi

  case "$command $option" in
@OPTIONS@
  esac
  if [[ $current == -* || -z $takes || $takes$given == one[1-9]* ]]; then
    kind='' found=()
    case $command in
@COMMANDS@
    esac
    [[ $current != -* ]] || kind=options
  fi

  [[ $kind != options ]] || found=($options)
  (($#found == 0)) || _describe -t values value found
  case $kind in
    files) _files ;;
    folders) _files -/ ;;
  esac
}
if [[ $funcstack[1] == _ping_llm ]]; then
  _ping_llm "$@"
else
  compdef _ping_llm ping-llm
fi
