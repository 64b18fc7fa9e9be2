// Writes a stream into memory: each packet becomes AXI4 bursts, one behind the other from the address that comes with its
// first beat. A burst leaves when all of it is here, so that the memory never waits for the stream. When the memory has
// answered for all of a packet, a pulse tells it, in order. A packet that the memory refused is written on to its end.
module s2mm
  import axi_pkg::*;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned AddrW = 64,
    parameter int unsigned Depth = 512,  // beats that wait for the memory
    parameter int unsigned Outstanding = 32,  // bursts that the memory has not answered
    parameter int unsigned MaxBurst = 256,  // beats of the longest burst; 4 KiB at most in any case

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input  logic [DataW-1:0] s_axis_tdata,
    input  logic [KeepW-1:0] s_axis_tkeep,
    input  logic             s_axis_tlast,
    input  logic [  AddrW:0] s_axis_tuser,   // {with tlast: the packet fails in any case, with its first beat: address}
    input  logic             s_axis_tvalid,
    output logic             s_axis_tready,

    // AXI4 write master, one ID: responses return in order
    output axi_write_request_t              m_axi_o,
    input  axi_write_response_t             m_axi_i,
    output logic                [DataW-1:0] m_axi_wdata,
    output logic                [KeepW-1:0] m_axi_wstrb,

    // A packet is through; with it, whether it failed
    output logic done_o,
    output logic failed_o
);

  localparam int unsigned LANES_W = $clog2(KeepW);
  localparam int unsigned PAGE_W = 12 - LANES_W;  // index of a beat in 4 KiB, which no burst may cross
  localparam int unsigned MAX_W = PAGE_W < $clog2(MaxBurst) ? PAGE_W : $clog2(MaxBurst);  // log2 of the longest burst
  localparam int unsigned WHOLE_W = $clog2(Depth) + 1;

  if (DataW < 64 || DataW > 1024 || (DataW & (DataW - 1)) != 0) begin : gen_check_width
    $error("%m: DataW = %0d must be a power of two, 64 to 1024", DataW);
  end
  if (MaxBurst < 2 || MaxBurst > 256 || (MaxBurst & (MaxBurst - 1)) != 0) begin : gen_check_burst
    $error("%m: MaxBurst = %0d must be a power of two, 2 to 256", MaxBurst);
  end
  if (Depth < 2 << MAX_W) begin : gen_check_depth
    $error("%m: Depth = %0d must hold two bursts, %0d beats", Depth, 2 << MAX_W);
  end

  typedef struct packed {
    logic spoiled;
    logic last;     // of its packet
  } record_t;

  typedef struct packed {
    record_t record;
    logic [7:0] len;
    logic [AddrW-LANES_W-1:0] address;  // in beats
  } burst_t;

  // Stream side: bursts end at every multiple of the longest one, which is also a cut at every 4 KiB, and with the packet.
  logic [AddrW-LANES_W-1:0] address, address_q;  // of this beat, in beats
  logic [MAX_W-1:0] before_q;  // beats of its burst before it
  logic [LANES_W-1:0] lane;
  burst_t ended, burst;
  logic spoiled, first_q, push, ends, buffer_ready, burst_ready, burst_valid;
  logic [AddrW-LANES_W-1:0] start;

  assign {spoiled, start, lane} = s_axis_tuser;
  assign address = first_q ? start : address_q;
  assign ends = s_axis_tlast || address[MAX_W-1:0] == '1;
  assign ended = '{
          record: '{spoiled: spoiled && s_axis_tlast, last: s_axis_tlast},
          len: 8'(before_q),
          address: {address[AddrW-LANES_W-1:MAX_W], address[MAX_W-1:0] - before_q}
      };
  assign s_axis_tready = buffer_ready && burst_ready;
  assign push = s_axis_tvalid && s_axis_tready;

  always_ff @(posedge clk) begin
    if (push) begin
      first_q   <= s_axis_tlast;
      address_q <= address + 1'b1;
      before_q  <= ends ? '0 : before_q + 1'b1;
    end
    if (rst) begin
      first_q  <= 1'b1;
      before_q <= '0;
    end
  end

  // Address side
  record_t record;
  logic asked, record_ready, record_valid, answered;

  axis_fifo #(
      .DataW($bits(burst_t)),
      .Depth(Outstanding)
  ) u_bursts (
      .clk,
      .rst,
      .s_axis_tdata (ended),
      .s_axis_tvalid(push && ends),
      .s_axis_tready(burst_ready),
      .m_axis_tdata (burst),
      .m_axis_tvalid(burst_valid),
      .m_axis_tready(asked)
  );

  assign asked = burst_valid && record_ready && m_axi_i.awready;

  // Data side
  logic [WHOLE_W-1:0] whole_q;  // bursts all of which are in the buffer
  logic data_valid, wlast, wvalid, sent;

  axis_buffer #(
      .DataW(DataW + KeepW + 1),
      .Depth(Depth)
  ) u_buffer (
      .clk,
      .rst,
      .s_axis_tdata ({ends, s_axis_tkeep, s_axis_tdata}),
      .s_axis_tvalid(push),
      .s_axis_tready(buffer_ready),
      .m_axis_tdata ({wlast, m_axi_wstrb, m_axi_wdata}),
      .m_axis_tvalid(data_valid),
      .m_axis_tready(sent)
  );

  assign wvalid = data_valid && whole_q != '0;
  assign sent = wvalid && m_axi_i.wready;

  always_ff @(posedge clk) begin
    whole_q <= whole_q + WHOLE_W'(push && ends) - WHOLE_W'(sent && wlast);
    if (rst) whole_q <= '0;
  end

  // Answers
  logic failed, failed_q;

  axis_fifo #(
      .DataW($bits(record_t)),
      .Depth(Outstanding)
  ) u_records (
      .clk,
      .rst,
      .s_axis_tdata (burst.record),
      .s_axis_tvalid(asked),
      .s_axis_tready(record_ready),
      .m_axis_tdata (record),
      .m_axis_tvalid(record_valid),
      .m_axis_tready(answered)
  );

  assign answered = m_axi_i.bvalid && record_valid;
  assign failed = failed_q || m_axi_i.bresp != 2'b00 || record.spoiled;

  always_ff @(posedge clk) begin
    if (answered) failed_q <= failed && !record.last;
    done_o   <= answered && record.last;
    failed_o <= failed;
    if (rst) begin
      failed_q <= 1'b0;
      done_o   <= 1'b0;
    end
  end

  assign m_axi_o = '{
          awaddr: 64'({burst.address, LANES_W'(0)}),
          awlen: burst.len,
          awsize: 3'(LANES_W),
          awburst: 2'b01,  // INCR
          awcache: 4'b0011,  // normal memory, not cacheable, bufferable
          awprot: 3'b000,
          awvalid: burst_valid && record_ready,
          wlast: wlast,
          wvalid: wvalid,
          bready: record_valid
      };

  logic unused;
  assign unused = ^lane;

endmodule
