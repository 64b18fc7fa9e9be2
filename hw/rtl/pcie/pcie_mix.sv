// Descriptors of two streams, each with its payload, one after the other to one engine: in turn where both wait, so a descriptor of one waits for
// one of the other at most. `qp` of what comes out is 0 for the first stream, 1 for the second.
//
//   descriptors -> in turn -> descriptors
//                     '-> order -> payload
module pcie_mix
  import framelane_pkg::bd_t;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned Depth = 16,  // descriptors that are ahead of their payload

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    // Of each stream: destination, length, `last`; payload, one packet each that has bytes
    input  bd_t  [1:0] s_axis_bd_tdata,
    input  logic [1:0] s_axis_bd_tvalid,
    output logic [1:0] s_axis_bd_tready,

    input  logic [1:0][DataW-1:0] s_axis_payload_tdata,
    input  logic [1:0][KeepW-1:0] s_axis_payload_tkeep,
    input  logic [1:0]            s_axis_payload_tlast,
    input  logic [1:0]            s_axis_payload_tuser,
    input  logic [1:0]            s_axis_payload_tvalid,
    output logic [1:0]            s_axis_payload_tready,

    output bd_t  m_axis_bd_tdata,
    output logic m_axis_bd_tvalid,
    input  logic m_axis_bd_tready,

    output logic [DataW-1:0] m_axis_payload_tdata,
    output logic [KeepW-1:0] m_axis_payload_tkeep,
    output logic             m_axis_payload_tlast,
    output logic             m_axis_payload_tuser,
    output logic             m_axis_payload_tvalid,
    input  logic             m_axis_payload_tready,

    output logic idle_o
);

  // What of a descriptor is passed on.
  typedef struct packed {
    logic        stream;
    logic        last;
    logic [31:0] length;
    logic [63:0] destination;
  } part_t;

  part_t [1:0] parts;
  part_t part;
  logic [$bits(part_t)-1:0] part_bits;
  logic part_tvalid, part_tready, has_payload, order_ready, sel_tdata, sel_tvalid, sel_tready;

  always_comb begin
    for (int unsigned k = 0; k < 2; k++) begin
      parts[k] = '{
          stream: k != 0,
          last: s_axis_bd_tdata[k].last,
          length: s_axis_bd_tdata[k].length,
          destination: s_axis_bd_tdata[k].destination
      };
    end
  end

  axis_merge #(
      .DataW($bits(part_t))
  ) u_merge (
      .clk,
      .rst,
      .s_axis_a_tdata (parts[0]),
      .s_axis_a_tvalid(s_axis_bd_tvalid[0]),
      .s_axis_a_tready(s_axis_bd_tready[0]),
      .s_axis_b_tdata (parts[1]),
      .s_axis_b_tvalid(s_axis_bd_tvalid[1]),
      .s_axis_b_tready(s_axis_bd_tready[1]),
      .m_axis_tdata   (part_bits),
      .m_axis_tvalid  (part_tvalid),
      .m_axis_tready  (part_tready)
  );

  assign part = part_bits;
  assign has_payload = part.length != '0;
  assign part_tready = m_axis_bd_tready && order_ready;
  assign m_axis_bd_tvalid = part_tvalid && order_ready;

  always_comb begin
    m_axis_bd_tdata = '0;
    m_axis_bd_tdata.qp = 8'(part.stream);
    m_axis_bd_tdata.last = part.last;
    m_axis_bd_tdata.length = part.length;
    m_axis_bd_tdata.destination = part.destination;
  end

  axis_fifo #(
      .DataW(1),
      .Depth(Depth)
  ) u_order (
      .clk,
      .rst,
      .s_axis_tdata (part.stream),
      .s_axis_tvalid(part_tvalid && m_axis_bd_tready && has_payload),
      .s_axis_tready(order_ready),
      .m_axis_tdata (sel_tdata),
      .m_axis_tvalid(sel_tvalid),
      .m_axis_tready(sel_tready)
  );

  axis_select #(
      .DataW  (DataW),
      .Sources(2)
  ) u_select (
      .clk,
      .rst,
      .s_axis_sel_tdata (sel_tdata),
      .s_axis_sel_tvalid(sel_tvalid),
      .s_axis_sel_tready(sel_tready),
      .s_axis_tdata     (s_axis_payload_tdata),
      .s_axis_tkeep     (s_axis_payload_tkeep),
      .s_axis_tlast     (s_axis_payload_tlast),
      .s_axis_tuser     (s_axis_payload_tuser),
      .s_axis_tvalid    (s_axis_payload_tvalid),
      .s_axis_tready    (s_axis_payload_tready),
      .m_axis_tdata     (m_axis_payload_tdata),
      .m_axis_tkeep     (m_axis_payload_tkeep),
      .m_axis_tlast     (m_axis_payload_tlast),
      .m_axis_tuser     (m_axis_payload_tuser),
      .m_axis_tvalid    (m_axis_payload_tvalid),
      .m_axis_tready    (m_axis_payload_tready)
  );

  assign idle_o = !part_tvalid && !sel_tvalid && !m_axis_payload_tvalid;

  logic unused;
  assign unused = ^s_axis_bd_tdata;

endmodule
