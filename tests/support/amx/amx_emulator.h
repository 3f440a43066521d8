// Intel AMX in software, for machines without it.
#pragma once
#include <csignal>

/// Intel AMX in software, for machines without it.
namespace kiln::amx {

using SetAction = int (*)(int signal, const struct sigaction* action, struct sigaction* before);

/// Executes AMX instructions of this process in software from now on, if the machine lacks them. Each of them
/// raises SIGILL there, and the handler of this signal does its work: LDTILECFG, STTILECFG, TILERELEASE,
/// TILEZERO, TILELOADD, TILELOADDT1, TILESTORED, TDPBF16PS and the TDPB*D of bytes. Every thread has its own
/// tiles. All other illegal instructions, and misuse of tiles, go to the handler that was there before.
///
/// `set` is the C library's sigaction. To be called once. The machine must have AVX2 and FMA. On a machine
/// with AMX this does nothing, and returns false.
bool install_emulator(SetAction set);

}  // namespace kiln::amx
