// Takes the first bytes of every packet off; what is left begins at lane 0. What has no more bytes than that leaves nothing.
// For streams that cannot wait: nothing stalls here, at any rate. Two cycles from the beat that fills a beat out.
// Every GroupW bits of lanes have their own copy of the control, so that none drives more; all copies are always equal.
module axis_behead #(
    parameter int unsigned DataW  = 512,
    parameter int unsigned Bytes  = 48,   // that are taken off
    parameter int unsigned More   = 0,    // and so many more where more_i says so
    parameter int unsigned GroupW = 128,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input logic [DataW-1:0] s_axis_tdata,
    input logic [KeepW-1:0] s_axis_tkeep,
    input logic             s_axis_tlast,
    input logic             s_axis_tuser,   // with tlast
    input logic             s_axis_tvalid,
    input logic             more_i,         // with each beat from the last on that has bytes to be taken off

    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tuser,   // with tlast
    output logic             m_axis_tvalid
);

  // The last beat that has bytes to be taken off, and how many.
  localparam int unsigned SKIP = (Bytes - 1) / KeepW;
  localparam int unsigned SHIFT = (Bytes - 1) % KeepW + 1;
  localparam int unsigned SHIFT_MORE = (Bytes + More - 1) % KeepW + 1;
  localparam int unsigned COUNT_W = $clog2(SKIP + 2);
  localparam int unsigned GROUPS = (DataW + GroupW - 1) / GroupW;

  if (Bytes == 0 || (Bytes + More - 1) / KeepW != SKIP) begin : gen_check
    $error("%m: Bytes = %0d and Bytes + More = %0d must end in the same beat", Bytes, Bytes + More);
  end

  // Stage 1: a beat, beside the one before it.
  logic [DataW-1:0] data1_q, data2_q;
  logic [KeepW-1:0] keep1_q, keep2_q;
  logic last1_q, user1_q, user2_q, more1_q, flush_q, behind, rest;
  logic [COUNT_W-1:0] beat_q;  // of the packet, as far as it counts
  (* keep, dont_merge *)logic [GROUPS-1:0] valids1_q;
  (* keep, dont_merge *)logic [GROUPS-1:0] mores2_q;

  assign behind = valids1_q[0] && beat_q == COUNT_W'(SKIP + 1);
  assign rest = more1_q ? SHIFT_MORE < KeepW && keep1_q[SHIFT_MORE%KeepW] : SHIFT < KeepW && keep1_q[SHIFT%KeepW];

  always_ff @(posedge clk) begin
    keep1_q <= s_axis_tkeep;
    last1_q <= s_axis_tlast;
    user1_q <= s_axis_tuser;
    valids1_q <= {GROUPS{s_axis_tvalid}};
    more1_q <= More != 0 && more_i;
    if (valids1_q[0]) begin
      keep2_q <= keep1_q;
      user2_q <= user1_q;
      if (last1_q) beat_q <= '0;
      else if (beat_q != COUNT_W'(SKIP + 1)) beat_q <= beat_q + 1'b1;
    end
    flush_q <= valids1_q[0] && last1_q && rest && (beat_q == COUNT_W'(SKIP) || beat_q == COUNT_W'(SKIP + 1));
    if (rst) begin
      beat_q <= '0;
      flush_q <= 1'b0;
      valids1_q <= '0;
    end
  end

  // Stage 2: the lanes of both, moved. A last beat that leaves bytes over has a beat more.
  logic [2*KeepW-1:0] keeps;
  assign keeps = {flush_q ? '0 : keep1_q, keep2_q};

  always_ff @(posedge clk) begin
    m_axis_tkeep  <= mores2_q[0] ? keeps[SHIFT_MORE+:KeepW] : keeps[SHIFT+:KeepW];
    m_axis_tlast  <= flush_q || (last1_q && !rest);
    m_axis_tuser  <= flush_q ? user2_q : user1_q;
    m_axis_tvalid <= behind || flush_q;
    if (rst) m_axis_tvalid <= 1'b0;
  end

  for (genvar g = 0; g < GROUPS; g++) begin : gen_group
    localparam int unsigned AT = g * GroupW;
    localparam int unsigned WIDTH = AT + GroupW > DataW ? DataW - AT : GroupW;

    always_ff @(posedge clk) begin
      data1_q[AT+:WIDTH] <= s_axis_tdata[AT+:WIDTH];
      if (valids1_q[g]) begin
        data2_q[AT+:WIDTH] <= data1_q[AT+:WIDTH];
        if (mores2_q[g] != more1_q) mores2_q[g] <= more1_q;  // a copy asks whether it changes: equal ones become one
      end
      if (rst) mores2_q[g] <= 1'b0;
    end
  end

  logic [2*DataW-1:0] window;
  assign window = {data1_q, data2_q};

  for (genvar g = 0; g < GROUPS; g++) begin : gen_out
    localparam int unsigned AT = g * GroupW;
    localparam int unsigned WIDTH = AT + GroupW > DataW ? DataW - AT : GroupW;

    always_ff @(posedge clk) begin
      m_axis_tdata[AT+:WIDTH] <= mores2_q[g] ? window[8*SHIFT_MORE+AT+:WIDTH] : window[8*SHIFT+AT+:WIDTH];
    end
  end

  logic unused;
  assign unused = ^{keeps, window};

endmodule
