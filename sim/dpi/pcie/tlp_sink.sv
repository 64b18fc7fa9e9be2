// A port of the root complex in C++ (root_complex.cpp). For simulation only.
module tlp_sink
  import pcie_pkg::*;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned Port  = 0,

    localparam int unsigned DwordsW = DataW / 32
) (
    input logic clk,
    input logic rst,

    input  logic      [  DataW-1:0] s_axis_tlp_tdata,
    input  logic      [DwordsW-1:0] s_axis_tlp_tkeep,
    input  logic                    s_axis_tlp_tlast,
    input  tlp_user_t               s_axis_tlp_tuser,
    input  logic                    s_axis_tlp_tvalid,
    output bit                      s_axis_tlp_tready,

    // Completions of reads
    output bit       completion_o,
    output bit [4:0] completion_tag_o,
    output bit       completion_bad_o
);

  import "DPI-C" function void complex_beat(
    input int port,
    input int dwords,
    input bit [DataW-1:0] data,
    input int unsigned keep,
    input bit last,
    input longint unsigned address,
    input int length,
    input int enables,
    input bit read,
    input int tag,
    input bit poisoned
  );
  import "DPI-C" function bit complex_ready(input int port);
  import "DPI-C" function int complex_completion(input int port);

  request_t header;
  assign header = s_axis_tlp_tuser.request;

  always_ff @(posedge clk) begin
    automatic int answer = rst ? -1 : complex_completion(Port);
    if (!rst && s_axis_tlp_tvalid && s_axis_tlp_tready)
      complex_beat(Port, DwordsW, s_axis_tlp_tdata, 32'(s_axis_tlp_tkeep), s_axis_tlp_tlast, header.address,
                   32'(header.dwords), 32'({header.last_be, header.first_be}), header.fence.read,
                   32'(header.fence.tag), s_axis_tlp_tuser.poisoned);
    s_axis_tlp_tready <= !rst && complex_ready(Port);
    completion_o <= answer >= 0;
    completion_tag_o <= answer[4:0];
    completion_bad_o <= answer[5];
  end

endmodule
