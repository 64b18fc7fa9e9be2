// Stands between a writer and its memory, which may stop for good. When the memory has owed an answer for too long, or as long as it is
// told to, the writer is answered, each burst with an error, so that it comes to its end, and what it gives is swallowed. The memory's
// bursts are ended too, as soon as it goes on: what it was offered stays on offer, the beats that are left of them write no byte, and
// its answers are swallowed. A cycle of latency for addresses, none for data, which wait for their address.
module write_guard
  import axi_pkg::*;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned Bursts = 32,  // under way; a power of two
    parameter int unsigned UnitW = 16,  // the limit is in 2^UnitW cycles

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input logic [15:0] limit_i,  // without a move of the memory; 0: never
    input logic        drain_i,

    // The writer, which gives a burst's address whether or not its data are taken, and takes answers at once
    input  axi_write_request_t              s_axi_i,
    output axi_write_response_t             s_axi_o,
    input  logic                [DataW-1:0] s_axi_wdata,
    input  logic                [KeepW-1:0] s_axi_wstrb,

    // The memory
    output axi_write_request_t              m_axi_o,
    input  axi_write_response_t             m_axi_i,
    output logic                [DataW-1:0] m_axi_wdata,
    output logic                [KeepW-1:0] m_axi_wstrb,

    output logic late_o,  // the limit has passed, and the memory owes answers since
    output logic owes_o,  // the memory owes answers
    output logic left_o,  // and nobody waits for them, whoever has given them up
    output logic fired_o  // pulse: late from now on
);

  localparam logic [1:0] SLVERR = 2'b10;
  localparam int unsigned COUNT_W = $clog2(Bursts) + 2;

  typedef logic [COUNT_W-1:0] count_t;
  typedef struct packed {
    logic [7:0]  len;
    logic [63:0] address;
  } ask_t;

  // Bursts
  count_t due_q, due;  // that the writer waits to be answered for
  count_t open_q, open;  // of those, that lack data of the writer
  count_t owed_q, owed;  // that the memory will answer and nobody waits for
  count_t blank_q, blank;  // of those, that the memory lacks data of
  logic answers_q, answers, gives_up, asked, ended, answered, passed, filled, room, late;
  logic ask_ready, ask_valid, len_ready, len_valid, beat_valid, beat_ready, last, blanks, data_last, data_valid;
  logic [7:0] len, beat_q;  // of the memory's burst that data go to
  ask_t ask;

  assign room = due_q + owed_q < count_t'(Bursts);
  assign asked = s_axi_i.awvalid && s_axi_o.awready;
  assign ended = s_axi_i.wvalid && s_axi_o.wready && s_axi_i.wlast;
  assign answered = s_axi_o.bvalid;
  assign passed = m_axi_i.bvalid;
  assign filled = blanks && beat_valid && beat_ready && last;

  assign due = due_q + count_t'(asked) - count_t'(answered);
  assign open = open_q + count_t'(asked) - count_t'(ended);
  assign owed = owed_q - count_t'(passed && (answers_q || owed_q != '0));
  assign blank = blank_q - count_t'(filled);
  assign gives_up = late || drain_i;
  assign answers = gives_up || fired_o || (answers_q && due != '0);

  always_ff @(posedge clk) begin
    answers_q <= answers;
    due_q  <= due;
    open_q <= open;
    owed_q <= answers && !answers_q ? owed + due : owed;  // all that is due was asked of the memory
    blank_q <= answers && !answers_q ? blank + open : blank;
    if (rst) begin
      answers_q <= 1'b0;
      due_q <= '0;
      open_q <= '0;
      owed_q <= '0;
      blank_q <= '0;
    end
  end

  axis_reg #(
      .DataW($bits(ask_t))
  ) u_ask (
      .clk,
      .rst,
      .s_axis_tdata ({s_axi_i.awlen, s_axi_i.awaddr}),
      .s_axis_tvalid(asked && !answers_q),
      .s_axis_tready(ask_ready),
      .m_axis_tdata (ask),
      .m_axis_tvalid(ask_valid),
      .m_axis_tready(m_axi_i.awready)
  );

  axis_fifo #(
      .DataW(8),
      .Depth(Bursts)
  ) u_lens (
      .clk,
      .rst,
      .s_axis_tdata (s_axi_i.awlen),
      .s_axis_tvalid(asked && !answers_q),
      .s_axis_tready(len_ready),
      .m_axis_tdata (len),
      .m_axis_tvalid(len_valid),
      .m_axis_tready(beat_valid && beat_ready && last)
  );

  // Data of the writer, or none, for the oldest burst that lacks some
  assign blanks = blank_q != '0;
  assign last = beat_q == len;
  assign beat_valid = len_valid && (blanks || (s_axi_i.wvalid && !answers_q));

  always_ff @(posedge clk) begin
    if (beat_valid && beat_ready) beat_q <= last ? '0 : beat_q + 1'b1;
    if (rst) beat_q <= '0;
  end

  axis_skid #(
      .DataW(DataW + KeepW + 1)
  ) u_data (
      .clk,
      .rst,
      .s_axis_tdata ({last, blanks ? KeepW'(0) : s_axi_wstrb, s_axi_wdata}),
      .s_axis_tvalid(beat_valid),
      .s_axis_tready(beat_ready),
      .m_axis_tdata ({data_last, m_axi_wstrb, m_axi_wdata}),
      .m_axis_tvalid(data_valid),
      .m_axis_tready(m_axi_i.wready)
  );

  watchdog #(
      .UnitW(UnitW)
  ) u_watchdog (
      .clk,
      .rst,
      .limit_i,
      .waits_i(!answers_q && (due_q != '0 || owed_q != '0)),
      .moves_i(passed || (ask_valid && m_axi_i.awready) || (data_valid && m_axi_i.wready)),
      .over_i (owed_q == '0),
      .late_o (late),
      .fired_o
  );

  assign late_o = late;
  assign owes_o = due_q != '0 || owed_q != '0;
  assign left_o = owed_q != '0;

  always_comb begin
    m_axi_o = s_axi_i;  // what is constant: size, kind, protection
    m_axi_o.awaddr = ask.address;
    m_axi_o.awlen = ask.len;
    m_axi_o.awvalid = ask_valid;
    m_axi_o.wlast = data_last;
    m_axi_o.wvalid = data_valid;
    m_axi_o.bready = 1'b1;
    s_axi_o.awready = answers_q ? gives_up && due_q != count_t'(Bursts) : room && ask_ready;
    s_axi_o.wready = answers_q ? open_q != '0 : len_valid && !blanks && beat_ready;
    s_axi_o.bvalid = answers_q ? due_q != open_q : passed && owed_q == '0;
    s_axi_o.bresp = answers_q ? SLVERR : m_axi_i.bresp;
  end

  logic unused;
  assign unused = len_ready;  // there are never more than Bursts

`ifndef SYNTHESIS
  always @(posedge clk) begin
    assert (rst || !answered || s_axi_i.bready)
    else $error("%m: the writer made an answer wait");
    assert (rst || !passed || due_q != '0 || owed_q != '0)
    else $error("%m: an answer came that was not asked for");
    assert (rst || answers_q || !s_axi_i.wvalid || !s_axi_o.wready || s_axi_i.wlast == last)
    else $error("%m: a burst has another length than its address says");
  end
`endif

endmodule
