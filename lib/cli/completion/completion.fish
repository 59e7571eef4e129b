# Completes ping-llm in fish. Made by `ping-llm completion fish`.
function __ping_llm
    set -l current (commandline -ct)
    set -l prefix ''
    set -l command ''
    set -l option ''
    set -l given 0
    set -l takes ''
    set -l kind ''
    set -l found
    set -l options
    for word in (commandline -opc)[2..]
        if string match -q -- '--*' $word
            set option (string replace -r '=.*' '' -- $word)
            set given (string match -q -- '*=*' $word && echo 1 || echo 0)
        else if contains -- "$option:$command" @GROUPS@
            set command (string trim "$command $word")
        else
            set given (math $given + 1)
        end
    end
    if string match -q -- '--*=*' $current
        set option (string replace -r '=.*' '' -- $current)
        set given 0
        set prefix "$option="
        set current (string replace -r '^[^=]*=' '' -- $current)
    end

    switch "$command $option"
@OPTIONS@
    end
    if string match -q -- '-*' $current || test -z "$takes" || test "$takes" = one -a $given -gt 0
        set kind ''
        set found
        switch $command
@COMMANDS@
        end
        string match -q -- '-*' $current && set kind options
    end

    test "$kind" = options && set found $options
    begin
        printf '%s\n' $found
        switch $kind
            case files
                __fish_complete_path $current
            case folders
                __fish_complete_directories $current
        end
    end | string replace -r '^' -- $prefix
end
complete -c ping-llm -f -a '(__ping_llm)'
