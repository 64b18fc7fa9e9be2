// Model of an SDR SDRAM of 32 bits without byte masks, always selected, its clock always on: one M12L64322A (BankW = 2), or two
// M12L16161A or W9816G6JH side by side (BankW = 1). It breaks the simulation where a command comes too early by the slowest grade, where
// refresh comes too late, or where the order after power-up is wrong. What it has not been told yet, or no longer says, reads inverted.
// Commands before 200 us of silence count for nothing. With WITHOUT_TIMES it knows clock edges and no times.
module sdram_chip
  import sdram_pkg::*;
#(
    parameter int unsigned BankW = 1,
    parameter real         Late  = 4.0  // ns that clock and commands need to it, and data from it, taken together
) (
    input logic             clk_i,
    input logic             ras_ni,
    input logic             cas_ni,
    input logic             we_ni,
    input logic [BankW-1:0] ba_i,
    input logic [ROW_W-1:0] a_i,
    inout wire [DATA_W-1:0] dq_io
);

  localparam int unsigned WORDS = 1 << (BankW + ROW_W + COLUMN_W);

  logic [DATA_W-1:0] words[WORDS];

  logic clk;
  command_e command;
  logic [BankW-1:0] ba;
  logic [ROW_W-1:0] a;
  logic [DATA_W-1:0] dq;

  // The mode, and the open row of each bank
  logic on, moded;
  int unsigned refreshes;
  logic [(1<<BankW)-1:0] open;
  logic [ROW_W-1:0] rows[1<<BankW];

  // What is read, one clock before it is said
  logic [DATA_W-1:0] next_data, data;
  logic next_valid, drives;

  initial begin
    on = 1'b0;
    moded = 1'b0;
    refreshes = 0;
    open = '0;
    next_valid = 1'b0;
    drives = 1'b0;
  end

  assign dq_io = drives ? data : {DATA_W{1'bz}};

`ifdef WITHOUT_TIMES
  assign clk = clk_i;
  assign command = command_e'({ras_ni, cas_ni, we_ni});
  assign {ba, a, dq} = {ba_i, a_i, dq_io};

  logic unused;
  assign unused = Late != 0.0;
`else
  // Least times in ns, of the slowest of M12L16161A-7, M12L64322A-7 and W9816G6JH-7 (tRC 65, tRAS 45: the last one)
  localparam realtime RCD = 20.0;
  localparam realtime RP = 20.0;
  localparam realtime RAS = 45.0;
  localparam realtime RC = 65.0;
  localparam realtime RRD = 15.0;
  localparam realtime RAS_MOST = 100_000.0;
  localparam realtime REFRESH_MOST = 15_625.0;
  localparam realtime SILENCE = 200_000.0;
  localparam realtime CYCLE = 10.0;  // with CAS latency 2
  localparam realtime SETUP = 2.0;
  localparam realtime HOLD = 1.0;
  localparam realtime ACCESS = 6.0;
  localparam realtime OUTPUT_HOLD = 2.0;
  localparam int unsigned WRITE_CYCLES = 2;  // tRDL, tWR; tRSC is 2 as well

  // On the way, in steps that are shorter than half of a clock
  localparam int unsigned STEPS = 4;

  realtime late;  // a bench may change it
  initial late = Late;

  logic clks[STEPS+1];
  command_e commands[STEPS+1];
  logic [BankW-1:0] banks[STEPS+1];
  logic [ROW_W-1:0] addresses[STEPS+1];
  logic [DATA_W-1:0] datas[STEPS+1];

  assign clks[0] = clk_i;
  assign commands[0] = command_e'({ras_ni, cas_ni, we_ni});
  assign banks[0] = ba_i;
  assign addresses[0] = a_i;
  assign datas[0] = dq_io;

  for (genvar k = 0; k < STEPS; k++) begin : gen_steps
    always @(clks[k]) clks[k+1] <= #(late / STEPS) clks[k];
    always @(commands[k]) commands[k+1] <= #(late / STEPS) commands[k];
    always @(banks[k]) banks[k+1] <= #(late / STEPS) banks[k];
    always @(addresses[k]) addresses[k+1] <= #(late / STEPS) addresses[k];
    always @(datas[k]) datas[k+1] <= #(late / STEPS) datas[k];
  end

  assign clk = clks[STEPS];
  assign command = commands[STEPS];
  assign ba = banks[STEPS];
  assign a = addresses[STEPS];
  assign dq = datas[STEPS];

  realtime edge_at, input_at, data_at, command_at, refresh_at, precharge_at, active_at, last_at[1<<BankW];
  int unsigned since_write, since_mode;

  initial begin
    edge_at = -CYCLE;
    input_at = 0.0;
    data_at = 0.0;
    command_at = 0.0;
    refresh_at = 0.0;
    precharge_at = -RC;
    active_at = -RC;
    for (int k = 0; k < (1 << BankW); k++) last_at[k] = -RC;
    since_write = WRITE_CYCLES;
    since_mode = WRITE_CYCLES;
  end

  always @(command or ba or a) begin
    input_at = $realtime;
    if (on && input_at - edge_at < HOLD) $error("%m: hold of a command");
  end

  logic written;
  initial written = 1'b0;

  always @(dq) begin
    data_at = $realtime;
    if (written && data_at - edge_at < HOLD) $error("%m: hold of data");
  end

  // Two that drive at once
  always @(negedge clk) if (drives && dq_io != data) $error("%m: data are driven by two");

  function automatic void power_up();
    if (command != PRECHARGE || !a[ALL_BANKS]) $error("%m: all banks are to be precharged first");
    precharge_at = $realtime;
  endfunction

  function automatic void check(input realtime at);
    logic idle;
    idle = open == '0;
    if (since_mode < WRITE_CYCLES - 1) $error("%m: tRSC");
    if (moded && at - refresh_at > REFRESH_MOST) $error("%m: refresh is late");
    unique case (command)
      ACTIVE: begin
        if (!moded) $error("%m: the mode is not set");
        if (open[ba]) $error("%m: bank %0d has an open row", ba);
        if (at - precharge_at < RP || at - last_at[ba] < RC || at - refresh_at < RC || at - active_at < RRD) begin
          $error("%m: ACTIVE is too early: tRP, tRC or tRRD");
        end
        last_at[ba] = at;
        active_at = at;
      end
      PRECHARGE: begin
        for (int unsigned k = 0; k < (1 << BankW); k++) begin
          if (open[k] && (a[ALL_BANKS] || ba == BankW'(k))) begin
            if (at - last_at[k] < RAS) $error("%m: PRECHARGE is too early: tRAS");
            if (at - last_at[k] > RAS_MOST) $error("%m: a row was open for too long");
          end
        end
        if (since_write + 1 < WRITE_CYCLES) $error("%m: PRECHARGE is too early: tWR");
        precharge_at = at;
      end
      REFRESH: begin
        if (!idle || at - precharge_at < RP || at - refresh_at < RC) $error("%m: REFRESH is too early: tRP or tRC");
        refresh_at = at;
      end
      MODE: begin
        if (!idle || at - precharge_at < RP || at - refresh_at < RC) $error("%m: MODE is too early: tRP or tRC");
        if (refreshes < 8) $error("%m: the mode is set after %0d refreshes", refreshes);
        if (ba != '0 || a != MODE_WORD) $error("%m: mode %h is not known", a);
      end
      READ, WRITE: begin
        if (!open[ba]) $error("%m: bank %0d has no open row", ba);
        if (at - last_at[ba] < RCD) $error("%m: tRCD");
        if (a[ALL_BANKS]) $error("%m: no automatic precharge is known");
      end
      default: $error("%m: no command");
    endcase
  endfunction
`endif

  always @(posedge clk) begin
`ifdef WITHOUT_TIMES
    on     <= 1'b1;
    data   <= next_data;
    drives <= next_valid;
`else
    if (on && $realtime - edge_at < CYCLE) $error("%m: the clock is too fast");
    edge_at <= $realtime;
    written <= on && command == WRITE;
    if (command != NOP) begin
      if (on && $realtime - input_at < SETUP) $error("%m: setup of a command");
      if ($realtime - command_at >= SILENCE) begin
        on <= 1'b1;
        moded <= 1'b0;
        refreshes <= 0;
        open <= '0;
        power_up();
      end else if (on) check($realtime);
      command_at <= $realtime;
    end
    if (command == WRITE && $realtime - data_at < SETUP) $error("%m: setup of data");
    since_write <= command == WRITE ? 0 : since_write + 1;
    since_mode  <= command == MODE ? 0 : since_mode + 1;

    // Data of the command before, and what was said until now
    data   <= #(OUTPUT_HOLD) ~next_data;
    drives <= #(OUTPUT_HOLD) next_valid;
    data   <= #(ACCESS) next_data;
`endif
    next_valid <= 1'b0;
    if (on) begin
      case (command)
        ACTIVE: begin
          open[ba] <= 1'b1;
          rows[ba] <= a;
        end
        PRECHARGE: if (a[ALL_BANKS]) open <= '0; else open[ba] <= 1'b0;
        REFRESH: refreshes <= refreshes + 1;
        MODE: moded <= 1'b1;
        READ: begin
          next_valid <= moded && open[ba];
          next_data  <= words[{rows[ba], ba, a[COLUMN_W-1:0]}];
        end
        WRITE: if (moded && open[ba]) words[{rows[ba], ba, a[COLUMN_W-1:0]}] <= dq;
        default: ;
      endcase
    end
  end

endmodule
